// Steps of averaging where the model that work() read is one round old (learn/lagged.h).
//
// A round would move the weights by g. A weight whose g points at its optimum moves twice as far
// as it should, since the move of the round before was not seen; one whose g is a small part of the
// way gains by it, as by momentum. So the move before is taken back in part, weight by weight:
//
//   w[t+1] = w[t] + g(w[t-1]) - b (w[t] - w[t-1])      b = 2 sqrt(a) - 1, at least 0
//
// a is the part of the way to its optimum that a round goes; for it, b makes z^2 - (1-b) z + a - b,
// whose roots the error is multiplied with each round, a square: the fastest decay without
// swinging. a is the secant -dg / dw of the last two models that were read, over rounds that count
// half as much each round, and within 0 and 1. Before two models differ, b is kFirst.
//
// Cost: five vectors of the model's size, and one walk over them a round.
#pragma once

#include <span>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::linear {

class LateSteps {
 public:
  static constexpr double kFirst = 0.5;

  // `w` comes as `before` with the move of a round added, and is changed to the next model. Both
  // are in the coordinates of SGD.
  void step(std::span<const double> before, std::span<double> w);
  // The models to come have nothing to do with those before.
  void clear() { *this = {}; }

  // In the state of a learner. Borrows. THROWS Error(kInput) for vectors of another size.
  void save(State& state) const;
  void load(const data::SafetensorsFile& file, std::size_t size);

 private:
  // The last round: the model one round ago, how it differed from the one before that, the move.
  std::vector<double> read_, change_, move_;
  std::vector<double> pull_, size_;  // of the secants: sums of -dg dw, and of dw dw
};

}  // namespace meanwhile::learn::linear
