// Memory for the rows of a data set, filled shard by shard, for a worker that does not know which
// shards it will do. Address space is reserved for all shards, memory is used for the filled ones,
// and rows never move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::data {

// All that is known of a data set without its rows.
struct Outline {
  bool sparse = false, float64 = false;
  std::int64_t cols = 0;
  std::vector<std::int64_t> shard_rows, shard_stored;  // by shard
  bool labelled = false, weighted = false;
  Deal deal = Deal::kBlocks;
  std::int64_t read_rows = 0;
  std::string sha256;
  std::vector<double> label_values;
  std::vector<std::string> class_names, feature_names;
  bool counts_from_one = false;
  std::shared_ptr<const TableSchema> table = {};

  std::int64_t rows() const;
  std::int64_t stored() const;
};

// The most of each that an outline may promise: addresses end there.
inline constexpr std::int64_t kMostShards = 1'000'000;
inline constexpr std::int64_t kMostStored = std::int64_t{1} << 44;  // rows, and stored values

// An outline may come from a store that others write to: its numbers become sizes and places in
// memory. THROWS Error(kInput) when a count is negative or beyond the limit, when lists differ in
// length, or when rows, columns and stored values, or labels and classes, do not go together.
void check(const Outline& outline);

// REQUIRES: `part` holds every row.
Outline outline_of(const Part& part);

// The rows of one shard as the tensors of a safetensors data file.
struct ShardFile {
  Dataset rows;  // copies in order of row, without class and feature names
  std::map<std::string, Tensor> tensors;
  Metadata metadata;
};
ShardFile shard_file(const Dataset& data, const Shard& shard);

// Thread safety: fill() and drop() of different shards may run at the same time.
class ShardBuffer {
 public:
  // THROWS as check().
  explicit ShardBuffer(Outline outline);

  const Outline& outline() const { return outline_; }
  // Copies the rows of `shard` to their place. THROWS Error(kInput) if they do not fit the outline
  // (number, type, columns, labels or weights), or if a value is not a finite number.
  void fill(int shard, const Dataset& rows);
  // Gives the memory of `shard` back to the system.
  void drop(int shard);

  // A part that holds `shards`. Borrows from this buffer.
  // REQUIRES: the shards are filled, and stay so while the part is used.
  Part part(const std::set<int>& shards) const;

 private:
  RowRange rows_of(int shard) const;

  Outline outline_;
  std::vector<std::int64_t> first_row_, first_stored_;  // by shard, and the end
  base::Buffer<std::byte> values_;
  base::Buffer<std::int64_t> row_start_;
  base::Buffer<std::int32_t> columns_;
  base::Buffer<double> labels_, weights_;
};

}  // namespace meanwhile::data
