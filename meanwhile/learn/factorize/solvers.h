// The learners behind `train factorize`, one for each solver. They learn the same kind of model
// (trained.h) from the same rows (ratings.h).
#pragma once

#include <memory>

#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::factorize {

inline constexpr char kName[] = "factorize";

// Alternating least squares (als.cc).
std::unique_ptr<RoundLearner> als_learner(const Parameters& parameters);

// Stochastic gradient descent by rotation (sgd.cc). THROWS as validate().
std::unique_ptr<RoundLearner> sgd_learner(const Parameters& parameters);

// The learner of parameters.solver.
std::unique_ptr<RoundLearner> make_learner(const Parameters& parameters);

}  // namespace meanwhile::learn::factorize
