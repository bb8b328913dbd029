// One pass over the rows of a shard that leaves the weights as they are: losses, and on request the
// gradient of the summed loss.
#pragma once

#include <span>

#include "meanwhile/learn/linear/problem.h"

namespace meanwhile::learn::linear {

struct LossSums {
  double loss = 0, weight = 0, rows = 0;
  double sharp = 0;  // the loss without smoothing; equal to `loss` where there is none
  double right = 0;  // weight of rows whose class was predicted; 0 for regression
};

enum class Rows { kTrain, kHeldOut, kAll };

struct PassOptions {
  Rows rows = Rows::kTrain;
  double fraction = 1;  // of the rows, sampled afresh in every round
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
};

// `gradient` (of problem.size(), or empty: not wanted) is added to. Intercepts of a problem without
// any get no gradient.
LossSums pass(const Problem& problem, const Examples& examples, int shard,
              std::span<const double> w, const PassOptions& options, std::span<double> gradient);

// Sums over the training rows of a shard that fix scales and weights before the first step.
struct Statistics {
  double rows = 0, weight = 0;
  double label = 0, label_squared = 0;  // weighted
  double norm_squared = 0;              // of rows, unweighted
  std::span<double> class_weight;       // sample weights by class
  std::span<double> first, second;      // weighted moments of the columns; empty: not wanted
};
void statistics(const Examples& examples, int shard, Statistics& sums);

}  // namespace meanwhile::learn::linear
