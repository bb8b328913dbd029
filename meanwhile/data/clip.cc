#include "meanwhile/data/clip.h"

#include <algorithm>

namespace meanwhile::data {

namespace {

template <class T>
Sparse<T> clip(const Sparse<T>& m, std::int64_t cols, Dataset& owner) {
  const auto rows = static_cast<std::size_t>(m.rows);
  base::Buffer<std::int64_t> starts;
  starts.resize(rows + 1);
  starts.data()[0] = 0;
  // Columns are in order, so the entries that stay are the front of each row.
  const auto kept = [&](std::int64_t row) {
    const auto columns = m.row(row).columns;
    return std::lower_bound(columns.begin(), columns.end(), cols) - columns.begin();
  };
  for (std::size_t i = 0; i < rows; ++i) {
    starts.data()[i + 1] = starts.data()[i] + kept(static_cast<std::int64_t>(i));
  }
  const auto stored = static_cast<std::size_t>(starts.data()[rows]);
  base::Buffer<std::int32_t> columns;
  base::Buffer<T> values;
  columns.resize(stored);
  values.resize(stored);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = m.row(static_cast<std::int64_t>(i));
    const auto at = static_cast<std::size_t>(starts.data()[i]);
    const auto count = static_cast<std::size_t>(starts.data()[i + 1]) - at;
    std::copy_n(row.columns.data(), count, columns.data() + at);
    std::copy_n(row.values.data(), count, values.data() + at);
  }
  return {own(owner, std::move(starts)).data(), own(owner, std::move(columns)).data(),
          own(owner, std::move(values)).data(), m.rows, cols};
}

}  // namespace

Dataset clip_columns(const Dataset& data, std::int64_t cols) {
  Dataset clipped = data;
  clipped.mapped = false;
  std::visit(
      [&](const auto& m) {
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) clipped.x = clip(m, cols, clipped);
      },
      data.x);
  if (!clipped.feature_names.empty()) clipped.feature_names.resize(static_cast<std::size_t>(cols));
  return clipped;
}

}  // namespace meanwhile::data
