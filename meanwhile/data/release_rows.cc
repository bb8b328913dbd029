#include "meanwhile/data/release_rows.h"

#include <span>
#include <type_traits>
#include <variant>

#include "meanwhile/base/file.h"

namespace meanwhile::data {

namespace {

template <class T>
void release(const T* array, std::int64_t size, std::int64_t begin, std::int64_t end) {
  base::release_mapped_around(
      std::as_bytes(std::span(array + begin, static_cast<std::size_t>(end - begin))),
      std::as_bytes(std::span(array, static_cast<std::size_t>(size))));
}

}  // namespace

void release_rows(const Matrix& x, RowRange rows) {
  std::visit(
      [&](const auto& m) {
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          const std::int64_t size = m.row_start[m.rows];
          const std::int64_t begin = m.row_start[rows.begin], end = m.row_start[rows.end];
          release(m.columns, size, begin, end);
          release(m.values, size, begin, end);
        } else {
          release(m.values, m.rows * m.cols, rows.begin * m.cols, rows.end * m.cols);
        }
      },
      x);
}

}  // namespace meanwhile::data
