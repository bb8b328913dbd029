// What linear models cost, from the shape of the data alone.
//
// Counted are a product and a sum for each stored value to the margin, and again to the gradient or
// the weights.
#include <algorithm>

#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/tail.h"

namespace meanwhile::learn::linear {

namespace {

double outputs_of(Kind kind, const Shape& shape) {
  if (kind == Kind::kLinear || shape.classes <= 2) return 1;
  return static_cast<double>(shape.classes);
}

}  // namespace

Cost Linear::cost(const Shape& shape) const {
  const auto stored = static_cast<double>(shape.stored), rows = static_cast<double>(shape.rows);
  const auto cols = static_cast<double>(shape.cols);
  const double C = outputs_of(kind_, shape), weights = (cols + 1) * C;
  const bool averages = parameters_.send == Send::kModel;
  const bool many_rows = shape.sparse && rows > kRowsForAveraging * cols;
  const bool newton =
      averages && parameters_.solver != Solver::kSgd &&
      (parameters_.solver != Solver::kAuto || !many_rows || progress_.stage == "lbfgs");
  const double share = averages ? 1 : parameters_.batch_fraction;
  Cost cost;
  cost.flops = share * 4 * stored * C;
  cost.bytes_read = share * ((shape.sparse ? 8 : 4) * stored + 8 * rows);
  cost.update_bytes = 8 * (averages && !newton && parameters_.adaptive ? 2 : 1) * weights;
  // L-BFGS walks over its pairs of vectors twice.
  const auto pairs = static_cast<double>(parameters_.history);
  cost.absorb_bytes = cost.update_bytes * (newton ? 4 * pairs : 3);
  cost.kernel = name() + (!averages ? ".gradient" : newton ? ".lbfgs" : ".model");
  cost.outputs = C;
  return cost;
}

std::vector<Stretch> Linear::course(const Shape& shape) const {
  const Cost round = cost(shape);
  std::vector<Stretch> course;
  if (progress_.stage == "statistics") {
    Cost statistics = round;
    statistics.flops = 4 * static_cast<double>(shape.stored);
    statistics.update_bytes =
        uses_moments() || !shape.sparse
            ? 8 * static_cast<double>(moments_each()) * static_cast<double>(shape.cols)
            : 0;
    statistics.absorb_bytes = statistics.update_bytes;
    course.push_back({Phase::kPrepare, 1, statistics});
  }
  const bool steps = parameters_.solver == Solver::kHybrid || !round.kernel.ends_with(".lbfgs");
  const bool searched = progress_.stage != "statistics" && progress_.stage != "rate";
  if (steps && !searched && parameters_.learning_rate == 0) {
    Cost search = round;
    const double sample = kRateShards * static_cast<double>(kRateSample);
    const double share =
        std::min(1.0, sample / static_cast<double>(std::max<std::int64_t>(1, shape.rows)));
    const auto stored = static_cast<double>(shape.stored);
    search.flops = kRates * share * 4 * stored * round.outputs;
    search.bytes_read = kRates * share * (shape.sparse ? 8 : 4) * stored;
    search.update_bytes = search.absorb_bytes = 8 * 2 * kRates;
    course.push_back({Phase::kPrepare, 1, search});
  }
  course.push_back({Phase::kTrain, static_cast<double>(rounds_left()), round});
  if (!round.kernel.ends_with(".lbfgs")) {
    Cost score = round;
    score.flops = 2 * static_cast<double>(shape.stored) * round.outputs;
    score.update_bytes = score.absorb_bytes = 0;
    course.push_back({Phase::kScore, 1, score});
  }
  return course;
}

}  // namespace meanwhile::learn::linear
