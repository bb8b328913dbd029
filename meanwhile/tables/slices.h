// How a table is cut into slices, and which worker owns a slice; pure.
//
// Blocks of consecutive rows are dealt to slices: of each run of as many blocks as there are slices
// every slice gets one, shifted by a hash of the run. So slices differ by one block at most, the
// frequent rows at the head of a table lie in different slices, and the place of a row is a
// formula. The cut is a function of the table's specification; workers own slices that follow each
// other, so that the owner is a function of the cut and the number of workers.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "meanwhile/exchange/order.h"
#include "meanwhile/tables/table.h"

namespace meanwhile::tables {

// A slice is read, changed and written as a whole: about so large.
inline constexpr std::int64_t kSliceBytes = std::int64_t{1} << 20;
inline constexpr std::int64_t kLeastSlices = 16, kMostSlices = 1 << 14;
inline constexpr std::int64_t kMostBlockRows = 64;

class Slices {
 public:
  // REQUIRES: table.rows >= 1.
  explicit Slices(const Table& table) : rows_(table.rows) {
    // A sparse row is taken to have a value in sixteen.
    const auto row_bytes = static_cast<std::int64_t>(dense_row_bytes(table));
    const std::int64_t expected =
        table.sparse ? std::max<std::int64_t>(16, row_bytes / 8) : row_bytes;
    const std::int64_t wanted = (rows_ * expected + kSliceBytes - 1) / kSliceBytes;
    count_ = static_cast<int>(std::min(std::clamp(wanted, kLeastSlices, kMostSlices), rows_));
    while (block_ < kMostBlockRows && block_ * 2 * count_ * kLeastSlices <= rows_) block_ *= 2;
  }

  int count() const { return count_; }
  std::int64_t block_rows() const { return block_; }

  // REQUIRES of these: 0 <= row < rows of the table.
  int slice_of(std::int64_t row) const {
    const std::int64_t block = row / block_, run = block / count_;
    return static_cast<int>((block % count_ + shift(run)) % count_);
  }
  // Where in its slice a row is. Rows of a slice keep their order.
  std::int64_t place_of(std::int64_t row) const {
    return row / block_ / count_ * block_ + row % block_;
  }

  std::int64_t rows_of(int slice) const {
    const std::int64_t blocks = (rows_ + block_ - 1) / block_,
                       runs = (blocks + count_ - 1) / count_;
    const std::int64_t in_last = blocks - (runs - 1) * count_;
    const std::int64_t at = block_in(slice, runs - 1);
    std::int64_t rows = (runs - 1) * block_;
    if (at < in_last - 1) rows += block_;
    if (at == in_last - 1) rows += rows_ - (blocks - 1) * block_;
    return rows;
  }
  // REQUIRES: 0 <= place < rows_of(slice).
  std::int64_t row_at(int slice, std::int64_t place) const {
    const std::int64_t run = place / block_;
    return (run * count_ + block_in(slice, run)) * block_ + place % block_;
  }

  // The slices of a worker, and the worker of a slice.
  exchange::Range owned(int worker, int workers) const {
    return exchange::owned(count_, worker, workers);
  }
  int owner_of(int slice, int workers) const {
    return static_cast<int>(((slice + 1LL) * workers - 1) / count_);
  }

 private:
  // The finaliser of SplitMix64.
  std::int64_t shift(std::int64_t run) const {
    auto z = static_cast<std::uint64_t>(run) + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(count_));
  }
  // Which block of a run is the slice's.
  std::int64_t block_in(int slice, std::int64_t run) const {
    return (slice - shift(run) + count_) % count_;
  }

  std::int64_t rows_, block_ = 1;
  int count_ = 1;
};

// Whether a row that so many of a worker's shards want is kept by the worker for the whole round,
// instead of being fetched for each of them.
inline constexpr bool is_replicated(int wanted_by, int shards) {
  return shards > 1 && 4 * wanted_by >= 3 * shards;
}

}  // namespace meanwhile::tables
