#include "meanwhile/data/pick.h"

#include <algorithm>

namespace meanwhile::data {

namespace {

template <class T>
Dense<T> pick(const Dense<T>& m, std::span<const std::int64_t> rows, Dataset& owner) {
  const auto cols = static_cast<std::size_t>(m.cols);
  base::Buffer<T> values(rows.size() * cols);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(m.row(rows[i]).data(), cols, values.data() + i * cols);
  }
  return {own(owner, std::move(values)).data(), static_cast<std::int64_t>(rows.size()), m.cols};
}

template <class T>
Sparse<T> pick(const Sparse<T>& m, std::span<const std::int64_t> rows, Dataset& owner) {
  base::Buffer<std::int64_t> starts(rows.size() + 1);
  starts.data()[0] = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    starts.data()[i + 1] = starts.data()[i] + m.row_start[rows[i] + 1] - m.row_start[rows[i]];
  }
  const auto stored = static_cast<std::size_t>(starts.data()[rows.size()]);
  base::Buffer<std::int32_t> columns(stored);
  base::Buffer<T> values(stored);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = m.row(rows[i]);
    const auto at = static_cast<std::size_t>(starts.data()[i]);
    std::copy_n(row.columns.data(), row.columns.size(), columns.data() + at);
    std::copy_n(row.values.data(), row.values.size(), values.data() + at);
  }
  return {own(owner, std::move(starts)).data(), own(owner, std::move(columns)).data(),
          own(owner, std::move(values)).data(), static_cast<std::int64_t>(rows.size()), m.cols};
}

std::span<const double> pick(std::span<const double> numbers, std::span<const std::int64_t> rows,
                             Dataset& owner) {
  if (numbers.empty()) return {};
  base::Buffer<double> some(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    some.data()[i] = numbers[static_cast<std::size_t>(rows[i])];
  }
  return own(owner, std::move(some));
}

}  // namespace

Dataset pick_rows(const Dataset& data, std::span<const std::int64_t> rows) {
  Dataset some = data;
  some.mapped = false;
  some.owners.clear();
  some.incomplete.clear();
  std::visit([&](const auto& m) { some.x = pick(m, rows, some); }, data.x);
  some.labels = pick(data.labels, rows, some);
  some.weights = pick(data.weights, rows, some);
  return some;
}

}  // namespace meanwhile::data
