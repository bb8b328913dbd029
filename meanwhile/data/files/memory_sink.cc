#include "meanwhile/data/files/memory_sink.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace meanwhile::data {

template <class T>
auto MemorySink<T>::reserve(RowChunk<T>& chunk) -> Place {
  const Place place = totals_.add(chunk);
  // The arrays grow by half, so that threads that copy rows rarely have to wait. New elements are
  // address space, not memory, until they are written.
  const auto fit = [this](auto& buffer, std::size_t size) {
    if (size <= buffer.size()) return;
    std::unique_lock lock(mutex_);
    buffer.resize(size + size / 2);
  };
  fit(values_, totals_.stored);
  if (sparse_) fit(columns_, totals_.stored);
  if (sparse_) fit(row_start_, totals_.rows + 1);
  if (totals_.labelled) fit(labels_, totals_.rows);
  if (totals_.weighted) fit(weights_, totals_.rows);
  return place;
}

template <class T>
void MemorySink<T>::put(const RowChunk<T>& chunk, const Place& place) {
  std::shared_lock lock(mutex_);
  std::copy_n(chunk.values.data(), chunk.stored, values_.data() + place.value);
  renumber_levels(chunk, values_.data() + place.value);
  if (sparse_) {
    std::copy_n(chunk.columns.data(), chunk.stored, columns_.data() + place.value);
    const auto before = static_cast<std::int64_t>(place.value);
    std::transform(chunk.row_end.data(), chunk.row_end.data() + chunk.rows,
                   row_start_.data() + place.row + 1,
                   [before](std::int64_t end) { return before + end; });
  }
  if (chunk.labelled) std::copy_n(chunk.labels.data(), chunk.rows, labels_.data() + place.row);
  if (chunk.weighted) std::copy_n(chunk.weights.data(), chunk.rows, weights_.data() + place.row);
}

template <class T>
Dataset MemorySink<T>::finish(RowsDescription description) {
  Dataset data;
  const auto keep = [&data](auto& buffer, std::size_t size) {
    buffer.resize(size);
    buffer.shrink_to_fit();
    return own(data, std::move(buffer));
  };
  const auto rows = static_cast<std::int64_t>(totals_.rows);
  if (sparse_) {
    const auto cols = std::max(description.cols, totals_.max_column + 1);
    data.x =
        Sparse<T>{keep(row_start_, totals_.rows + 1).data(), keep(columns_, totals_.stored).data(),
                  keep(values_, totals_.stored).data(), rows, cols};
  } else {
    data.x = Dense<T>{keep(values_, totals_.stored).data(), rows, description.cols};
  }
  if (totals_.labelled) data.labels = keep(labels_, totals_.rows);
  if (totals_.weighted) data.weights = keep(weights_, totals_.rows);
  data.class_names = totals_.words.words();
  data.feature_names = std::move(description.feature_names);
  data.counts_from_one = description.counts_from_one;
  data.unknown = totals_.unknown;
  data.table = std::move(description.table);
  data.notes = std::move(description.notes);
  return data;
}

template class MemorySink<float>;
template class MemorySink<double>;

}  // namespace meanwhile::data
