// The deal of rows to shards: by blocks, as described here, or by content (content.h).
//
// A shard is a deal of rows, not a stretch of the file: files sorted by label or by time are
// common, and models trained on one class each are useless to average. Blocks of consecutive rows
// keep reading sequential; small data has small blocks, so that a shard still has many of them.
// Block b is one of group g = b / S; the S blocks of a group go to the S shards in a random order
// that is a function of (seed, g, S) alone, so every worker deals the same rows to the same
// shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

enum class Deal {
  kBlocks,   // blocks of consecutive rows
  kContent,  // every row by a hash of what it holds: content.h
};
std::string to_string(Deal deal);
// Nothing for a name that is none.
std::optional<Deal> deal_of(std::string_view name);

inline constexpr std::int64_t kBlockRows = 256;  // at most

// The number of rows in a block of a data set of `rows` rows: the largest power of two, up to
// kBlockRows, that makes at least 128 blocks.
std::int64_t block_rows(std::int64_t rows);

struct RowRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

struct Shard {
  int index = 0;
  std::vector<RowRange> blocks;  // in order of row; all have block_rows() rows but the last
  std::int64_t rows = 0;
};

// Deals every row to exactly one shard; any two shards differ by at most one block. Some shards are
// empty if there are fewer blocks than shards. REQUIRES: rows >= 0, shards >= 1.
std::vector<Shard> deal(std::int64_t rows, int shards, std::uint64_t seed);

// The default number of shards: a power of two. It is 8; for more than 2 GiB of data as many as
// make a shard at most 256 MiB, up to 256. It does not depend on the machine, because the model
// depends on it.
int default_shards(std::int64_t data_bytes);

}  // namespace meanwhile::data
