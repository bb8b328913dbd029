// The deal of rows by content.
//
// Row order, files and hosts have no say: a row goes to shard `key mod S` (content_key.h), and
// inside a shard rows lie in order of key. Equal rows become one row whose weight is the exact sum
// of theirs, rounded once, and rows of weight 0 are left out. So the part is a function of the
// weighted multiset of rows alone, and a row of weight 2 is the row twice, bit for bit. Learners
// that take no weights get equal rows side by side instead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/content_key.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/part.h"

namespace meanwhile::data {

// Data of at most so many distinct rows is small: content is the default deal of small data.
inline constexpr std::int64_t kSmallRows = 65'536;

struct ContentDeal {
  int shards = 0;  // 0: default_shards() of the rows as they are dealt
  std::uint64_t seed = 0;
  bool merge = true;  // equal rows to one
};

// Dealt rows, or those of them that one worker holds.
struct ContentRows {
  // In memory of their own: shard by shard, in order of key. Zeros are +0, and not stored in sparse
  // rows. Every row has its weight here.
  Dataset data;
  std::vector<std::int64_t> shard_rows;  // by shard
  std::int64_t read = 0;                 // rows before equal ones were merged
  bool weighted = false;                 // some weight is not 1
  ContentSum sum;
};

// THROWS Error(kInput) when the weights of equal rows are too large to be added.
ContentRows deal_content(const Dataset& data, const ContentDeal& deal, base::Threads threads);

// The part of a worker that is the only one. `labelled`: rows have labels.
Part part_of(ContentRows rows, bool labelled, base::Threads threads);
Part whole_by_content(Dataset data, const ContentDeal& deal, base::Threads threads);

// The shards of `rows`, one after the other, in blocks of block_rows(all_rows). Shards without rows
// here have no blocks. `shard_rows`: of all workers.
std::vector<Shard> content_shards(const ContentRows& rows,
                                  const std::vector<std::int64_t>& shard_rows);

// The SHA-256 of data dealt by content: a hash of its description and of the sum of its rows. It
// does not depend on shards and seed. `whole`: of the rows as they are dealt.
std::string content_sha256(const Dataset& data, const Whole& whole, const ContentSum& sum);

// The different keys of those `rows` that have a positive weight, ascending. Where there are more
// than kSmallRows keys, only some, but still more than that. Data with at most kSmallRows is small.
// Pages of mapped data are released.
std::vector<ContentKey> distinct_keys(const Dataset& data, RowRange rows, base::Threads threads);

// The data with its class names in order of their bytes: files name them in the order in which they
// come. Renumbers the labels of `rows` alone.
Dataset with_sorted_classes(Dataset data, RowRange rows);

// All of `data` that is no row.
Dataset without_rows(const Dataset& data);

// Bytes of the rows of ContentRows::data, which add up over workers.
std::int64_t row_bytes(const Dataset& data);

}  // namespace meanwhile::data
