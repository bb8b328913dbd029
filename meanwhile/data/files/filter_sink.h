// Keeps some blocks of rows of what is poured into it, so that a node that must read a whole file
// holds its part of it only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/files/memory_sink.h"

namespace meanwhile::data {

// Rows of a data set, and which of its rows they are.
struct SomeRows {
  Dataset data;                // columns and names are those of the whole data set
  std::vector<RowRange> rows;  // their numbers in the whole, in order
  Whole whole;
};

template <class T>
class FilterSink : public RowSink<T> {
 public:
  using typename RowSink<T>::Place;
  // keep(b): whether block b, rows b * kBlockRows and on, is kept.
  FilterSink(bool sparse, std::function<bool(std::int64_t)> keep)
      : sparse_(sparse), keep_(std::move(keep)), sink_(sparse) {}

  Place reserve(RowChunk<T>& chunk) override;
  void put(const RowChunk<T>& chunk, const Place& place) override { sink_.put(chunk, place); }
  // Ends the use of the sink.
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
