// A table of parameters: rows of one width, in one kind of numbers. Its holders are elsewhere:
// slices.h cuts a table, slice.h holds a piece of it, courier.h moves rows.
//
// A table is read by rows that were asked for before, and changed by adding. Sums of exact numbers
// are the same in any order, so that changes may be added as they come; those of float64 are added
// along the one tree over shards (exchange/order.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace meanwhile::tables {

enum class Number : std::uint8_t {
  kInt32,    // counts
  kInt64,    // counts
  kFixed,    // int64, whole multiples of Table::grid
  kFloat64,  // the only one whose sums need an order
};

struct Table {
  std::string name;  // of files and blobs: letters, digits, '-' and '_'
  std::int64_t rows = 0;
  std::int32_t width = 1;  // values of a row
  Number number = Number::kInt64;
  double grid = 1;  // of kFixed: what the number 1 stands for; a power of two (fixed_point.h)
  // Rows hold (column, value) pairs of what is not zero; otherwise all `width` values.
  bool sparse = false;

  bool operator==(const Table&) const = default;
};

inline constexpr bool is_exact(Number number) { return number != Number::kFloat64; }
inline constexpr std::size_t number_bytes(Number number) {
  return number == Number::kInt32 ? 4 : 8;
}
inline std::size_t dense_row_bytes(const Table& table) {
  return static_cast<std::size_t>(table.width) * number_bytes(table.number);
}

// Whether a table of these numbers holds values of type T.
template <class T>
constexpr bool holds(Number number) {
  if (std::is_same_v<T, std::int32_t>) return number == Number::kInt32;
  if (std::is_same_v<T, double>) return number == Number::kFloat64;
  return std::is_same_v<T, std::int64_t> && (number == Number::kInt64 || number == Number::kFixed);
}

// Calls use(T{}) with the type in which numbers are held.
template <class Use>
decltype(auto) with_number(Number number, const Use& use) {
  switch (number) {
    case Number::kInt32:
      return use(std::int32_t{});
    case Number::kFloat64:
      return use(double{});
    case Number::kInt64:
    case Number::kFixed:
      break;
  }
  return use(std::int64_t{});
}

}  // namespace meanwhile::tables
