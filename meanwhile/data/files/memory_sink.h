// Collects rows in their final arrays in memory.
#pragma once

#include <shared_mutex>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/row_sink.h"

namespace meanwhile::data {

template <class T>
class MemorySink : public RowSink<T> {
 public:
  using typename RowSink<T>::Place;
  explicit MemorySink(bool sparse) : sparse_(sparse) {}

  Place reserve(RowChunk<T>& chunk) override;
  void put(const RowChunk<T>& chunk, const Place& place) override;
  // The data set; of a table, raw rows. REQUIRES: called last.
  Dataset finish(RowsDescription description);
  // Counts of a table over all rows.
  const TableCounts& counts() const { return totals_.table; }

 private:
  const bool sparse_;
  RowTotals<T> totals_;  // touched by reserve() alone

  // Threads that copy into the arrays share it. A thread that makes the arrays larger, and so may
  // move them, holds it alone.
  std::shared_mutex mutex_;
  base::Buffer<T> values_;
  base::Buffer<std::int32_t> columns_;
  base::Buffer<std::int64_t> row_start_;
  base::Buffer<double> labels_, weights_;
};

}  // namespace meanwhile::data
