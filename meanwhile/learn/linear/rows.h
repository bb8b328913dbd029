// The inner products of rows with weights, and their transposes. Weights of one column stand side
// by side: column j of C outputs is w[j C .. j C + C - 1], so that a sparse row touches one stretch
// of memory for each value it stores.
//
// The order of additions is fixed and depends on the row alone: one answer on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "meanwhile/data/matrix.h"

namespace meanwhile::learn::linear {

// A row of either kind. `columns` is null when every column is there.
template <class T>
struct RowView {
  const std::int32_t* columns;
  const T* values;
  std::size_t size;
};

template <class T>
RowView<T> view(const data::Dense<T>& m, std::int64_t row) {
  return {nullptr, m.values + row * m.cols, static_cast<std::size_t>(m.cols)};
}
template <class T>
RowView<T> view(const data::Sparse<T>& m, std::int64_t row) {
  const std::int64_t begin = m.row_start[row];
  return {m.columns + begin, m.values + begin,
          static_cast<std::size_t>(m.row_start[row + 1] - begin)};
}

// Brings the row's own memory near, a few rows before it is needed.
template <class T>
void prefetch_row(const data::Sparse<T>& m, std::int64_t row) {
  const RowView<T> r = view(m, row);
  const auto lines = [](const void* begin, std::size_t bytes) {
    const char* at = static_cast<const char*>(begin);
    for (std::size_t offset = 0; offset < bytes; offset += 64) __builtin_prefetch(at + offset);
  };
  lines(r.columns, r.size * sizeof(std::int32_t));
  lines(r.values, r.size * sizeof(T));
}
template <class T>
void prefetch_row(const data::Dense<T>&, std::int64_t) {}  // hardware sees it coming

// Brings the weights near that a row will touch. `stride`: from column to column.
template <class T, class W>
void prefetch_weights(const RowView<T>& row, const W* weights, std::size_t stride) {
  if (row.columns == nullptr) return;
  for (std::size_t k = 0; k < row.size; ++k) {
    __builtin_prefetch(weights + static_cast<std::size_t>(row.columns[k]) * stride);
  }
}

template <class T, class W>
double dot(const RowView<T>& row, const W* w) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::size_t k = 0;
  if (row.columns == nullptr) {
    for (; k + kLanes <= row.size; k += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        sums[i] += static_cast<double>(row.values[k + i]) * static_cast<double>(w[k + i]);
      }
    }
    for (; k < row.size; ++k) {
      sums[k % kLanes] += static_cast<double>(row.values[k]) * static_cast<double>(w[k]);
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  // Four sums that do not wait for each other, in registers.
  double a = 0, b = 0, c = 0, d = 0;
  const auto product = [&row, w](std::size_t i) {
    return static_cast<double>(row.values[i]) * static_cast<double>(w[row.columns[i]]);
  };
  for (; k + 4 <= row.size; k += 4) {
    a += product(k);
    b += product(k + 1);
    c += product(k + 2);
    d += product(k + 3);
  }
  if (k < row.size) a += product(k);
  if (k + 1 < row.size) b += product(k + 1);
  if (k + 2 < row.size) c += product(k + 2);
  return (a + b) + (c + d);
}

// z += the products with C outputs.
template <class T>
void dot(const RowView<T>& row, const double* w, std::size_t C, double* z) {
  for (std::size_t k = 0; k < row.size; ++k) {
    const double x = static_cast<double>(row.values[k]);
    const std::size_t column = row.columns ? static_cast<std::size_t>(row.columns[k]) : k;
    const double* at = w + column * C;
    for (std::size_t c = 0; c < C; ++c) z[c] += x * at[c];
  }
}

// g += a row.
template <class T, class G>
void add(const RowView<T>& row, double a, G* g) {
  if (row.columns == nullptr) {
    for (std::size_t k = 0; k < row.size; ++k) {
      g[k] += static_cast<G>(a * static_cast<double>(row.values[k]));
    }
    return;
  }
  for (std::size_t k = 0; k < row.size; ++k) {
    g[row.columns[k]] += static_cast<G>(a * static_cast<double>(row.values[k]));
  }
}

// g[column j] += a[c] x_j for C outputs.
template <class T>
void add(const RowView<T>& row, const double* a, std::size_t C, double* g) {
  for (std::size_t k = 0; k < row.size; ++k) {
    const double x = static_cast<double>(row.values[k]);
    const std::size_t column = row.columns ? static_cast<std::size_t>(row.columns[k]) : k;
    double* at = g + column * C;
    for (std::size_t c = 0; c < C; ++c) at[c] += x * a[c];
  }
}

}  // namespace meanwhile::learn::linear
