// The inner loops of alternating least squares, by vectors. A row of a table has `width` numbers, a
// multiple of kLanes; the last ones are zeros.
//
// The same bits whatever instruction set the machine has: sums are made in kLanes lanes, which are
// folded in one order, and no multiply-add is fused.
#pragma once

#include <cstddef>
#include <cstdint>

namespace meanwhile::learn::factorize {

inline constexpr std::size_t kLanes = 16;

constexpr std::size_t row_width(std::size_t numbers) {
  return (numbers + kLanes - 1) / kLanes * kLanes;
}

// Rows index[0], index[1], ... of a table.
struct RowList {
  const float* table = nullptr;
  const std::int32_t* index = nullptr;
  std::size_t count = 0, width = 0;
};

// products[j] = row j . p, and out += sum over j of (b[j] - a[j] products[j]) row j. `b`: null for
// zeros. `products` has room for 4 more numbers than rows.
void project(const RowList& rows, const float* p, const float* a, const float* b, float* products,
             float* out);

// products[j] = row j . p alone.
void multiply(const RowList& rows, const float* p, float* products);

// out += sum over i of p[i] * (row i of `matrix`), of width x width numbers.
void add_product(const float* matrix, std::size_t width, const float* p, float* out);

// gram += sum over rows of row row'. Both halves are filled in.
void add_outer(const float* rows, std::size_t count, std::size_t width, float* gram);

float dot(const float* a, const float* b, std::size_t width);

}  // namespace meanwhile::learn::factorize
