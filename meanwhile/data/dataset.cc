#include "meanwhile/data/dataset.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"

namespace meanwhile::data {

namespace {

template <class T>
std::span<const T> view(const T* data, std::int64_t size) {
  return {data, static_cast<std::size_t>(size)};
}

// Every array behind the matrix, in a fixed order.
std::vector<std::span<const std::byte>> arrays(const Matrix& x) {
  return std::visit(
      [&x](const auto& m) -> std::vector<std::span<const std::byte>> {
        const std::int64_t count = stored(x);
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          const std::int64_t starts = m.row_start == nullptr ? 0 : m.rows + 1;
          return {std::as_bytes(view(m.row_start, starts)), std::as_bytes(view(m.columns, count)),
                  std::as_bytes(view(m.values, count))};
        } else {
          return {std::as_bytes(view(m.values, count))};
        }
      },
      x);
}

// Whether any value is NaN or infinite: its exponent is all ones, so that adding one to the
// exponent carries into the sign bit. Only ands, adds and ors, which every vector unit has for both
// widths; the caller finds the place in a second pass.
template <class T>
bool any_not_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto kExponent = static_cast<Bits>(sizeof(T) == 4 ? 0x7f800000u : 0x7ff0000000000000u);
  constexpr Bits kOne = kExponent & (~kExponent + 1);  // the lowest bit of the exponent
  Bits carried = 0;
  for (const T value : values) carried |= (std::bit_cast<Bits>(value) & kExponent) + kOne;
  return (carried >> (8 * sizeof(T) - 1)) != 0;
}

// "row 3, column 5": the place of stored value number `index`.
template <class T>
std::string place(const Dense<T>& m, std::int64_t index) {
  return fmt::format("row {}, column {}", index / m.cols, index % m.cols);
}
template <class T>
std::string place(const Sparse<T>& m, std::int64_t index) {
  const auto row = std::upper_bound(m.row_start, m.row_start + m.rows + 1, index) - m.row_start - 1;
  return fmt::format("row {}, column {}", row, m.columns[index]);
}

// Checks stored values [first, last).
template <class M>
void check_values(const M& m, std::int64_t first, std::int64_t last, base::Threads threads,
                  bool mapped) {
  using T = typename M::Value;
  // A piece is small enough to be in the cache still when its bad value is looked up, and large
  // enough that the cost of a task does not count.
  constexpr std::int64_t kPiece = (std::int64_t{1} << 20) / std::int64_t{sizeof(T)};
  const std::int64_t count = last - first;
  const std::span<const std::byte> array = std::as_bytes(view(m.values, stored(m)));
  const std::int64_t pieces = count / kPiece + (count % kPiece != 0);
  const auto work = [&](std::int64_t piece, int) {
    const std::int64_t begin = first + piece * kPiece;
    const std::span<const T> values = view(m.values + begin, std::min(kPiece, last - begin));
    if (any_not_finite(values)) {
      const auto bad = std::find_if_not(values.begin(), values.end(),
                                        [](T value) { return std::isfinite(value); });
      throw base::Error(base::ErrorKind::kInput,
                        "{} (counted from 0): {} is not a finite number; remove such rows or fill "
                        "them in",
                        place(m, begin + (bad - values.begin())), *bad);
    }
    if (mapped) base::release_mapped_around(std::as_bytes(values), array);
  };
  // The pool starts tasks in order and throws the failure of the lowest: the first bad value.
  base::ThreadPool(threads.at_most(pieces)).run(pieces, work);
}

}  // namespace

std::int64_t byte_size(const Dataset& data) {
  std::size_t total = data.weights.size_bytes() + data.labels.size_bytes();
  for (const auto& array : arrays(data.x)) total += array.size();
  return static_cast<std::int64_t>(total);
}

void make_resident(const Dataset& data) {
  if (!data.mapped) return;
  for (const auto& array : arrays(data.x)) base::populate_mapped(array);
}

void check_finite(const Matrix& x, const std::string& name, base::Threads threads, bool mapped) {
  check_finite(x, {0, rows(x)}, name, threads, mapped);
}

void check_finite(const Matrix& x, RowRange range, const std::string& name, base::Threads threads,
                  bool mapped) {
  if (range.begin == range.end) return;
  try {
    std::visit(
        [&](const auto& m) {
          if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
            check_values(m, m.row_start[range.begin], m.row_start[range.end], threads, mapped);
          } else {
            check_values(m, range.begin * m.cols, range.end * m.cols, threads, mapped);
          }
        },
        x);
  } catch (base::Error& e) {
    e.in(name);
    throw;
  }
}

}  // namespace meanwhile::data
