// One pass of stochastic gradient descent over the rows of a shard, starting from shared weights:
// what a worker does between two averagings (Algorithm 4 of Guo et al., "Model averaging in
// distributed machine learning").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/linear/problem.h"

namespace meanwhile::learn::linear {

// Where steps are taken. Dense rows are centred and scaled as they are read, sparse rows at most
// scaled: weights v here are those of (x_j - mean_j) * scale_j. Empty: as they are.
struct Coordinates {
  std::vector<double> mean, scale;
  // The penalty of v_j is l1 * penalty_j |v_j| + l2 / 2 * penalty_j^2 v_j^2. Empty: all 1.
  // REQUIRES: empty for sparse rows.
  std::vector<double> penalty;

  // Weights of the raw rows as those of these coordinates, and back. Vectors as in Problem.
  void enter(const Problem& problem, std::span<double> w) const;
  void leave(const Problem& problem, std::span<double> v) const;
};

struct SgdOptions {
  double rate = 0.1;  // of row t of the pass: rate / (1 + decay t)
  double decay = 0;
  double l1 = 0, l2 = 0;
  double mean_weight =
      1;  // of the rows: weights are divided by it, so that rates keep their meaning
  // A row that weighs more than this many mean rows takes an implicit step (sgd.cc). Below 0: none.
  double heavy = -1;
  bool adaptive = false;  // Adagrad: the rate of a weight falls with the root of its squared slopes
  bool average = false;   // the mean of the weights after each row, not the last
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
  std::int64_t most_rows = -1;  // of the shuffled order; < 0: all
};

struct SgdResult {
  std::vector<double> v;        // after the pass
  std::vector<double> squares;  // adaptive: sums of squared slopes, those before the pass included
  // One rate: what a weight was multiplied with that no row touched, so that v - shrink * (v
  // before) is zero but for what the rows did.
  double shrink = 1;
  double loss = 0, weight = 0;  // each row's before it was learned from (progressive validation)
  double late_loss = 0, late_weight = 0;  // of the second half of the pass
  double rows = 0;
};

// `v` and `squares` (adaptive; else empty) are what all start from, vectors as in Problem.
// Rows come in random order: 16 blocks drawn at random are mixed, then the next 16.
//
// L2 is lazy: v is kept as c u, and a row costs what it stores, not what there are columns. L1 is
// the cumulative penalty of Tsuruoka, Tsujii and Ananiadou (2009): what a weight owes is paid when
// a row touches it, and at the end. Adaptive rates differ by weight, so there both penalties are
// paid on touch, in closed form for the rows since.
// REQUIRES: rate * l2 < 1.
SgdResult sgd_pass(const Problem& problem, const Examples& examples, int shard,
                   const Coordinates& coordinates, std::span<const double> v,
                   std::span<const double> squares, const SgdOptions& options);

}  // namespace meanwhile::learn::linear
