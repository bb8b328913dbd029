// A sink that keeps some blocks of rows, so that a worker that must read a whole file holds only
// its part of the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/files/memory_sink.h"

namespace meanwhile::data {

// Some rows of a data set.
struct SomeRows {
  Dataset data;                // columns and names are those of the whole data set
  std::vector<RowRange> rows;  // their numbers in the whole data set, in order
  Whole whole;
  // For a table, whose rows are raw still: counts over all rows of the data set, and the counts
  // whose numbers of levels the rows have.
  TableCounts counts = {}, numbering = {};
};

template <class T>
class FilterSink : public RowSink<T> {
 public:
  using typename RowSink<T>::Place;
  // keep(b): whether to keep block b, which begins at row b * kBlockRows.
  FilterSink(bool sparse, std::function<bool(std::int64_t)> keep)
      : sparse_(sparse), keep_(std::move(keep)), sink_(sparse) {}

  Place reserve(RowChunk<T>& chunk) override;
  void put(const RowChunk<T>& chunk, const Place& place) override { sink_.put(chunk, place); }
  // The kept rows. REQUIRES: called last.
  SomeRows finish(RowsDescription description);

 private:
  void drop_others(std::int64_t first, RowChunk<T>& chunk);

  const bool sparse_;
  const std::function<bool(std::int64_t)> keep_;
  RowTotals<T> totals_;  // of all rows
  std::vector<RowRange> kept_;
  MemorySink<T> sink_;
};

}  // namespace meanwhile::data
