// Cost of linear models, from the shape of the data alone.
//
// Counted are a product and a sum for each stored value to the margin, and again to the gradient or
// the weights.
#include <algorithm>

#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

namespace {

double outputs_of(Kind kind, const Shape& shape) {
  if (kind == Kind::kLinear || shape.classes <= 2) return 1;
  return static_cast<double>(shape.classes);
}

}  // namespace

Cost Linear::cost(const Shape& shape) const {
  const Parameters& parameters = fit_.parameters;
  const auto stored = static_cast<double>(shape.stored), rows = static_cast<double>(shape.rows);
  const auto cols = static_cast<double>(shape.cols);
  const double C = outputs_of(fit_.kind, shape), weights = (cols + 1) * C;
  const StageName trains = training_stage(fit_, shape);
  const double share = trains == StageName::kGradient ? parameters.batch_fraction : 1;
  const bool squares = trains == StageName::kModel && parameters.adaptive;
  Cost cost;
  cost.flops = share * 4 * stored * C;
  cost.bytes_read = share * ((shape.sparse ? 8 : 4) * stored + 8 * rows);
  cost.update_bytes = 8 * (squares ? 2 : 1) * weights;
  // L-BFGS walks over its pairs of vectors twice.
  const auto pairs = static_cast<double>(parameters.history);
  cost.absorb_bytes = cost.update_bytes * (trains == StageName::kLbfgs ? 4 * pairs : 3);
  // A gradient of a working set is one of L-BFGS.
  const bool sets = trains == StageName::kWorkingSet;
  if (sets) cost.absorb_bytes = 3 * cost.update_bytes;
  cost.kernel = name() + "." + to_string(sets ? StageName::kLbfgs : trains);
  cost.outputs = C;
  return cost;
}

std::vector<Stretch> Linear::course(const Shape& shape) const {
  const Cost round = cost(shape);
  std::vector<Stretch> course;
  stage(StageName::kStatistics).plan(shape, round, course);
  stage(StageName::kRate).plan(shape, round, course);
  auto rounds = static_cast<double>(rounds_left());
  if (training_stage(fit_, shape) == StageName::kWorkingSet) {
    stage(StageName::kWorkingSet).plan(shape, round, course);
    rounds = std::min(rounds, working_set_rounds(fit_));
  }
  course.push_back({Phase::kTrain, rounds, round});
  stage(StageName::kPrune).plan(shape, round, course);
  stage(StageName::kScore).plan(shape, round, course);
  return course;
}

}  // namespace meanwhile::learn::linear
