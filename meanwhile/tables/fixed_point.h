// Numbers on a grid: whole multiples of a power of two, as 64-bit integers. Their sums are exact,
// so that it does not matter in which order, where or how often they are added and taken away.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "meanwhile/base/error.h"

namespace meanwhile::tables {

// Bits of the largest number of a first set. The other 26 are for later, larger ones, and for sums.
inline constexpr int kGridBits = 36;

// The grid for numbers like these: `largest` takes kGridBits. A power of two, so that products with
// it are exact. 1 for 0.
inline double grid_for(double largest) {
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, exponent - kGridBits);
}

// Adds `values`, rounded to the grid, to `to`. THROWS Error(kFailed) when a number or a sum is too
// large for it. REQUIRES: equal sizes.
inline void add_on_grid(std::span<const double> values, double grid, std::span<std::int64_t> to) {
  const double scale = 1 / grid;
  bool fits = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double number = values[i] * scale;
    // Half of the range: two such numbers can always be added.
    fits &= std::abs(number) < 0x1p61 && std::abs(static_cast<double>(to[i])) < 0x1p61;
    to[i] += fits ? std::llrint(number) : 0;
  }
  if (fits) return;
  throw base::Error(base::ErrorKind::kFailed,
                    "a step is 2^26 times as long as the first ones, or is no number: training "
                    "has diverged; give a smaller learning_rate, or staleness 1");
}

[[noreturn]] inline void throw_too_large() {
  throw base::Error(base::ErrorKind::kFailed,
                    "a sum of steps is too large: training has diverged; give a smaller "
                    "learning_rate, or staleness 1");
}

// THROWS as add_on_grid().
inline void add_exactly(std::span<const std::int64_t> values, std::span<std::int64_t> to) {
  bool fits = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    fits &= !__builtin_add_overflow(to[i], values[i], &to[i]);
  }
  if (fits) return;
  throw_too_large();
}

}  // namespace meanwhile::tables
