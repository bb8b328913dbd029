// Views of matrices: rows are points, columns are features. A view borrows its memory from a
// Dataset.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

namespace meanwhile::data {

// Row-major.
template <class T>
struct Dense {
  using Value = T;
  const T* values = nullptr;
  std::int64_t rows = 0, cols = 0;

  std::span<const T> row(std::int64_t i) const {
    return {values + i * cols, static_cast<std::size_t>(cols)};
  }
};

// Compressed sparse rows: row i holds entries row_start[i] .. row_start[i + 1] - 1, its columns
// strictly increasing. Rows and nonzeros are counted in 64 bits; a column fits in 32.
template <class T>
struct Sparse {
  using Value = T;
  struct Row {
    std::span<const std::int32_t> columns;
    std::span<const T> values;
  };

  const std::int64_t* row_start = nullptr;  // rows + 1 entries, the first is 0
  const std::int32_t* columns = nullptr;
  const T* values = nullptr;
  std::int64_t rows = 0, cols = 0;

  Row row(std::int64_t i) const {
    const auto count = static_cast<std::size_t>(row_start[i + 1] - row_start[i]);
    return {{columns + row_start[i], count}, {values + row_start[i], count}};
  }
};

template <class M>
inline constexpr bool kIsSparse = std::is_same_v<M, Sparse<typename M::Value>>;

using Matrix = std::variant<Dense<float>, Dense<double>, Sparse<float>, Sparse<double>>;

inline bool is_sparse(const Matrix& x) {
  return std::visit([](const auto& m) { return kIsSparse<std::decay_t<decltype(m)>>; }, x);
}
inline bool is_float32(const Matrix& x) {
  return std::visit([](const auto& m) { return sizeof(*m.values) == sizeof(float); }, x);
}
inline std::int64_t rows(const Matrix& x) {
  return std::visit([](const auto& m) { return m.rows; }, x);
}
inline std::int64_t cols(const Matrix& x) {
  return std::visit([](const auto& m) { return m.cols; }, x);
}
// Values stored: rows * cols when dense, the explicit entries when sparse.
inline std::int64_t stored(const Matrix& x) {
  return std::visit(
      [](const auto& m) {
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          return m.rows == 0 ? std::int64_t{0} : m.row_start[m.rows];
        } else {
          return m.rows * m.cols;
        }
      },
      x);
}

}  // namespace meanwhile::data
