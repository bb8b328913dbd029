// The least-squares problem of one user, whose unknown w minimises
//
//   sum over its ratings j of a_j (f_j . w)^2 - 2 b_j (f_j . w)  +  w' G w  +  ridge |w|^2
//
// where f_j is the row of item j. Explicit feedback: a = weight, b = weight * what is left of the
// rating, no G. Implicit: a = c - 1 and b = c for a count of confidence c, and G = sum of f f' over
// all items, so that pairs without a count cost nothing (Hu, Koren and Volinsky, "Collaborative
// filtering for implicit feedback datasets", 2008).
#pragma once

#include <cstdint>
#include <vector>

#include "meanwhile/learn/factorize/als_kernel.h"

namespace meanwhile::learn::factorize {

struct NormalEquations {
  RowList rows;
  const float *a = nullptr, *b = nullptr;
  const float* gram = nullptr;  // width x width; null: none
  float ridge = 0;
};

// Memory that solvers use again for the next user.
struct NormalScratch {
  std::vector<float> products;    // of the rows with w as it was given
  std::vector<float> r, p, q, s;  // width
  std::vector<double> matrix, right;
  void prepare(std::size_t rows, std::size_t width);
};

// Steps of conjugate gradient from w, which ends earlier where nothing is left to gain. Costs
// 4 (steps + 1) rows width operations. Leaves products of the rows with the first w in `scratch`.
void solve_by_steps(const NormalEquations& equations, std::int64_t steps, NormalScratch& scratch,
                    float* w);

// The solution by Cholesky in float64, of the first `numbers` numbers of w. Where the matrix is
// singular (no ridge), what is not determined is 0.
void solve_exactly(const NormalEquations& equations, std::size_t numbers, NormalScratch& scratch,
                   float* w);

// The same for a matrix that is given, packed by rows of its lower triangle. `matrix` is destroyed.
void solve_packed(double* matrix, const double* right, std::size_t numbers, float* w);

// Below this, a squared residual is rounding.
inline constexpr float kNothingLeft = 1e-20F;

}  // namespace meanwhile::learn::factorize
