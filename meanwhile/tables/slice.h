// A slice of a table: its rows, and how what shards add to them is added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/tables/rows.h"
#include "meanwhile/tables/slices.h"
#include "meanwhile/tables/table.h"

namespace meanwhile::tables {

// Changes of one shard: rows of the slice, ascending, as SealedDelta has them.
struct ShardRows {
  int shard = 0;
  std::span<const std::byte> rows;
};

// Thread safety: const.
class Slice {
 public:
  // All zeros.
  Slice(const Table& table, std::int64_t rows);
  // THROWS Error(kInput), `name` first, when the tensors are not those of such a slice.
  Slice(const Table& table, std::int64_t rows, const data::SafetensorsFile& file,
        const std::string& name);

  std::size_t bytes() const;
  RowValues row(std::int64_t place) const;

  // A dense table has `values`, rows x width; a sparse one the pairs of all rows:
  // `starts`, `columns`, `values`. Borrowed.
  std::map<std::string, data::Tensor> tensors() const;

  // The slice after what the shards add, which come in any order: exact numbers are added as they
  // come, float64 along the one tree over `shards`; an absent row is +0.0. Values that become zero
  // are left out of sparse rows. Costs the rows that were added to, and a sparse slice.
  // THROWS Error(kFailed) when a sum is too large for its type, or bytes are no rows of the slice.
  void add(std::vector<ShardRows> added, int shards, const Slices& slices, int slice);

 private:
  template <class T>
  void add_rows(std::vector<ShardRows> added, int shards, const Slices& slices, int slice);
  template <class T>
  void add_to_dense(std::int64_t place, std::span<const T> total);

  Table table_;
  std::int64_t rows_ = 0;
  // As bytes, of whole 8-byte words for alignment.
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> starts_;  // of a sparse slice: where each row begins, and the end
  std::vector<std::int32_t> columns_;
};

}  // namespace meanwhile::tables
