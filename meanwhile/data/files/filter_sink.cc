#include "meanwhile/data/files/filter_sink.h"

#include <algorithm>
#include <utility>

namespace meanwhile::data {

template <class T>
auto FilterSink<T>::reserve(RowChunk<T>& chunk) -> Place {
  // Label words are numbered by all rows, also by rows that are dropped.
  const Place place = totals_.add(chunk);
  chunk.words.clear();
  drop_others(static_cast<std::int64_t>(place.row), chunk);
  // Levels are counted here; the sink is to number them in the rows it gets.
  TableCounts counted;
  std::swap(counted, chunk.table);
  const auto numbers = std::move(chunk.table_numbers);
  const Place kept = sink_.reserve(chunk);
  std::swap(counted, chunk.table);
  chunk.table_numbers = numbers;
  return kept;
}

// Moves the kept rows to the front of the chunk. `first`: the number of the chunk's first row.
template <class T>
void FilterSink<T>::drop_others(std::int64_t first, RowChunk<T>& chunk) {
  const std::size_t cols = sparse_ || chunk.rows == 0 ? 0 : chunk.stored / chunk.rows;
  const auto count = static_cast<std::int64_t>(chunk.rows);
  std::size_t rows = 0, stored = 0;         // kept so far
  std::size_t value = 0;                    // where the values of the next block begin
  for (std::int64_t at = 0; at < count;) {  // one block, or the chunk's part of it, each time
    const std::int64_t block = (first + at) / kBlockRows;
    const std::int64_t end = std::min(count, (block + 1) * kBlockRows - first);
    const auto begin_row = static_cast<std::size_t>(at), end_row = static_cast<std::size_t>(end);
    const std::size_t value_end =
        sparse_ ? static_cast<std::size_t>(chunk.row_end[end_row - 1]) : end_row * cols;
    if (keep_(block)) {
      const auto move = [](auto& buffer, std::size_t from, std::size_t from_end, std::size_t to) {
        std::copy(buffer.data() + from, buffer.data() + from_end, buffer.data() + to);
      };
      move(chunk.values, value, value_end, stored);
      if (sparse_) {
        move(chunk.columns, value, value_end, stored);
        const auto shift = static_cast<std::int64_t>(value - stored);
        for (std::size_t i = begin_row; i < end_row; ++i) {
          chunk.row_end[rows + i - begin_row] = chunk.row_end[i] - shift;
        }
      }
      if (chunk.labelled) move(chunk.labels, begin_row, end_row, rows);
      if (chunk.weighted) move(chunk.weights, begin_row, end_row, rows);
      rows += end_row - begin_row;
      stored += value_end - value;
      if (!kept_.empty() && kept_.back().end == first + at) {
        kept_.back().end = first + end;
      } else {
        kept_.push_back({first + at, first + end});
      }
    }
    value = value_end;
    at = end;
  }
  chunk.rows = rows;
  chunk.stored = stored;
}

template <class T>
SomeRows FilterSink<T>::finish(RowsDescription description) {
  if (sparse_) description.cols = std::max(description.cols, totals_.max_column + 1);
  SomeRows some;
  some.data = sink_.finish(std::move(description));
  some.data.class_names = totals_.words.words();
  some.data.unknown = totals_.unknown;
  some.counts = std::move(totals_.table);
  some.numbering = some.counts;
  some.rows = std::move(kept_);
  some.whole = {static_cast<std::int64_t>(totals_.rows), static_cast<std::int64_t>(totals_.stored),
                totals_.labelled, totals_.weighted};
  return some;
}

template class FilterSink<float>;
template class FilterSink<double>;

}  // namespace meanwhile::data
