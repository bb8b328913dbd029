// One pass over the rows of a shard that leaves the weights as they are: losses, and on request the
// gradient of the summed loss.
#pragma once

#include <span>

#include "meanwhile/exchange/update.h"
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
  // The weights again, in float32, or empty. Where rows are sparse and in float32 themselves, and
  // the problem is one of two classes, the pass goes by these and gathers the shard's gradient in
  // float32: half the memory to be reached at random, twice the speed.
  std::span<const float> narrow = {};
};
// Whether a pass over `x` would use them.
bool goes_narrow(const Problem& problem, const data::Matrix& x);

// Where a gradient is added to: D x C numbers for the columns, C for the intercepts. Empty: not
// wanted. Borrowed.
struct Gradient {
  std::span<double> features, intercepts;
  // Where `features` are a sparse block: the update and the number of the block, whose rows are
  // touched before they are added to.
  exchange::Update* rows = nullptr;
  int block = 0;

  // The block `features` of the update (none: not wanted) and the first numbers of block `rest`.
  static Gradient in(exchange::Update& update, int features, int rest, std::size_t outputs);
};

// Intercepts of a problem without any get no gradient.
LossSums pass(const Problem& problem, const Examples& examples, int shard,
              std::span<const double> w, const PassOptions& options, const Gradient& gradient);
// The same with one vector of problem.size() numbers, or none.
inline LossSums pass(const Problem& problem, const Examples& examples, int shard,
                     std::span<const double> w, const PassOptions& options,
                     std::span<double> gradient) {
  if (gradient.empty()) return pass(problem, examples, shard, w, options, Gradient{});
  return pass(
      problem, examples, shard, w, options,
      Gradient{gradient.first(problem.intercepts()), gradient.subspan(problem.intercepts())});
}

// Sums over the training rows of a shard that fix scales and weights before the first step.
struct Statistics {
  double rows = 0, weight = 0;
  double label = 0, label_squared = 0;  // weighted
  double norm_squared = 0;              // of rows, unweighted
  std::span<double> class_weight;       // sample weights by class
  // Weighted second moments of the columns, or second and first side by side; empty: not wanted.
  std::span<double> moments;
  exchange::Update* touched = nullptr;  // where `moments` are a sparse block, its number 0
};
void statistics(const Examples& examples, int shard, Statistics& sums);

}  // namespace meanwhile::learn::linear
