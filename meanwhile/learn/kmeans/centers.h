// Centres prepared for a round: the exact ones, and a cheap screen that finds, for each row, the
// few centres that could be nearest.
//
// The truth is float64. The distance of row x to centre c is the canonical sum of (x_j - c_j)^2 (or
// -x.c under cosine) in float64 in 16 fixed lanes, and the label is the arg-min of that, the lowest
// index of equals. Everything faster only decides which centres need not be looked at:
//
//   with a shift m, x' = x - m and c' = c - m:   |x - c|^2 = |x'|^2 - 2 A,   A = x'.c' - |c'|^2 / 2
//
// A screen computes A for all centres in float32 or in 8-bit integers with a proven bound E on its
// error. The exact distance of the best centre by the screen gives A* and every centre whose
// screened A is below A* - E is farther, whatever the rounding. The others are compared exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/kmeans/model.h"

namespace meanwhile::learn::kmeans {

enum class Screen { kFloat32, kInt8 };

inline constexpr std::int64_t kLanes = 16;  // of the canonical sum; centres are padded to it
inline constexpr std::int64_t kPanel = 32;  // centres interleaved in a panel
inline constexpr std::int64_t kMaxInt8Cols = 30000;  // 255 * 127 * cols must fit in 31 bits

inline std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

struct Centers {
  Metric metric = Metric::kEuclidean;
  std::int64_t K = 0, D = 0;
  std::int64_t stride = 0;    // D rounded up to kLanes
  std::vector<double> exact;  // K x stride, zero padded

  // The screen. Panels: for panel p, group of columns g, centre i of kPanel, column in group.
  Screen screen = Screen::kFloat32;
  std::vector<float> shift;          // m, D values; zero under cosine
  double max_norm = 0;               // of c'; infinite when the screen cannot hold the numbers
  float scale = 1;                   // kFloat32: a power of two that makes x' and c' about 1
  std::vector<float> panels;         // kFloat32: groups of one column, of scale * c'
  std::vector<float> bias;           // kFloat32: -|scale * c'|^2 / 2, -infinity for padding
  std::vector<std::int8_t> panels8;  // kInt8: groups of four columns, c' in steps of step_c
  std::vector<std::int32_t> bias8;  // kInt8: -|c'|^2 / (2 step_x step_c), less 128 times the sum of
                                    // the centre's steps: rows are stored 128 above their value
  float step_x = 0, step_c = 0;     // what 1 means in a quantised row, centre
  double max_error = 0;             // kInt8: of |c' - quantised c'|

  const double* center(std::int64_t k) const { return exact.data() + k * stride; }
};

// The typical size of the data about the shift, from a sample of rows: sets the 8-bit scale. It
// affects speed only, never labels.
struct Spread {
  std::vector<float> shift;  // the sample's mean
  float range = 0;           // what |x' - shift| rarely exceeds
};

// `centers` is K x D. Falls back to kFloat32 when 8 bits cannot hold the centres.
Centers prepare(Metric metric, std::span<const double> centers, std::int64_t K, std::int64_t D,
                const Spread& spread, Screen wanted);

}  // namespace meanwhile::learn::kmeans
