// The first round: sums over all rows that fix, before the first step, weights of classes, the
// coordinates of SGD, the rate to try first, and the stage that comes next.
//
// Update: second (and first) moments of the columns, where they are needed | rows, weight, labels,
// labels^2, norms^2, weight by class.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t kHead = 5;  // numbers before those of classes

class StatisticsStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kStatistics; }

  exchange::UpdateShape update_shape() const override {
    exchange::Block moments;  // none
    if (fit_.uses_moments()) moments = fit_.columns_block(fit_.moments.each, 1);
    return {moments, {.rows = static_cast<std::int64_t>(kHead + fit_.problem.classes.size())}};
  }

  void work(int shard, exchange::Update& update) const override {
    const std::span<double> rest = update.dense<double>(kRest);
    Statistics sums;
    sums.class_weight = rest.subspan(kHead);
    if (fit_.uses_moments()) {
      sums.moments = update.dense<double>(kFeatures);
      if (update.shape()[kFeatures].sparse) sums.touched = &update;
    }
    statistics(*fit_.examples, shard, sums);
    const double head[] = {sums.rows, sums.weight, sums.label, sums.label_squared,
                           sums.norm_squared};
    std::copy(std::begin(head), std::end(head), rest.begin());
  }

  StageName absorb(const exchange::Update& update, Outcome& outcome) override;

  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override {
    if (fit_.progress.stage != StageName::kStatistics) return;
    Cost cost = train;
    cost.flops = 4 * static_cast<double>(shape.stored);
    cost.update_bytes =
        fit_.uses_moments() || !shape.sparse
            ? 8 * static_cast<double>(fit_.moments.each) * static_cast<double>(shape.cols)
            : 0;
    cost.absorb_bytes = cost.update_bytes;
    course.push_back({Phase::kPrepare, 1, cost});
  }

 private:
  double initial_objective(double mean_square, double deviation) const;
  double mean_square() const;
  StageName choose(double deviation);
};

StageName StatisticsStage::absorb(const exchange::Update& update, Outcome& outcome) {
  outcome.phase = Phase::kPrepare;
  const std::span<const double> total = update.dense<double>(kRest);
  const std::size_t K = fit_.problem.classes.size();
  Progress& progress = fit_.progress;
  progress.rows = total[0];
  progress.weight = total[1];
  if (!(progress.weight > 0)) {
    throw Error(ErrorKind::kInput, "no row to learn from has a weight above 0");
  }
  const double mean = total[2] / total[1];
  const double deviation = std::sqrt(std::max(0.0, total[3] / total[1] - mean * mean));
  progress.mean_square = std::max(total[4] / total[0], 1e-30);
  fit_.class_sums.assign(total.begin() + kHead,
                         total.begin() + static_cast<std::ptrdiff_t>(kHead + K));
  for (std::size_t k = 0; k < K; ++k) {
    if (fit_.class_sums[k] == 0 && fit_.initial_classes.empty()) {
      throw Error(ErrorKind::kInput,
                  "no row of class {} to learn from: all are held out or weigh 0",
                  fit_.problem.classes[k]);
    }
  }
  if (fit_.uses_moments()) {
    std::vector<double> scratch;
    const std::span<const double> sums = all_rows(update, kFeatures, scratch);
    fit_.moments.values.assign(sums.begin(), sums.end());
    for (double& moment : fit_.moments.values) moment /= progress.weight;
  }
  progress.delta = fit_.parameters.huber_delta;
  if (progress.delta == 0) progress.delta = deviation > 0 ? deviation / 2 : 1;
  fit_.problem.loss.delta = progress.delta;
  fit_.settle_weights();
  fit_.settle_coordinates();
  // Regression starts at the mean, so that the first steps are not all about the intercept.
  const bool fresh = std::all_of(fit_.w.begin(), fit_.w.end(), [](double w) { return w == 0; });
  if (fit_.kind == Kind::kLinear && fit_.problem.intercept && fresh) {
    fit_.w[fit_.problem.intercepts()] = mean;
  }
  if (fresh) progress.initial = initial_objective(total[3] / total[1], deviation);
  return choose(deviation);
}

// The next stage, and the rate to begin with where that is one of SGD.
StageName StatisticsStage::choose(double deviation) {
  const Parameters& parameters = fit_.parameters;
  Progress& progress = fit_.progress;
  if (parameters.solver == Solver::kWorkingSet) return StageName::kWorkingSet;
  const bool averages = parameters.send == Send::kModel;
  // Averaging pays where a pass has many rows to learn each weight from.
  const bool many_rows =
      !fit_.dense && progress.rows > kRowsForAveraging * static_cast<double>(fit_.problem.cols);
  const bool newton =
      parameters.solver == Solver::kLbfgs || (parameters.solver == Solver::kAuto && !many_rows);
  if (newton && averages) return StageName::kLbfgs;
  if (parameters.adaptive) fit_.squares.assign(fit_.problem.size(), 0.0);
  const double unit = averages ? mean_square() : progress.mean_square;
  const double curvature = std::max(fit_.problem.loss.curvature(), 1.0);
  if (parameters.learning_rate > 0) {
    progress.rate = parameters.learning_rate;
    if (progress.rate * parameters.l2 >= 1) {
      throw Error(ErrorKind::kUsage,
                  "learning_rate times l2 is {}; it must be below 1: try a rate of {:.3g}",
                  progress.rate * parameters.l2, 1 / (curvature * unit));
    }
  } else if (progress.rate == 0) {
    progress.rate = 1 / (curvature * (unit + (fit_.problem.intercept ? 1 : 0)));
    if (parameters.adaptive) {
      const double size = classifies(fit_.problem.loss.loss) || deviation == 0 ? 1 : deviation;
      progress.rate = size / std::sqrt(unit);
    }
    return StageName::kRate;
  }
  return averages ? StageName::kModel : StageName::kGradient;
}

// The objective of a model that knows nothing, or a little more than that: one that diverges goes
// far beyond.
double StatisticsStage::initial_objective(double mean_square, double deviation) const {
  const Problem& problem = fit_.problem;
  const auto C = static_cast<double>(problem.outputs);
  if (problem.softmax) return std::log(C);
  if (!problem.classes.empty()) return C * problem.loss.value(0, 1);
  // The deviation is a difference: of labels that hardly differ it may be off by their rounding.
  return problem.intercept ? 0.5 * std::max(deviation * deviation, 1e-10 * mean_square)
                           : 0.5 * mean_square;
}

// The mean square length of the rows as SGD sees them.
double StatisticsStage::mean_square() const {
  if (fit_.dense) return static_cast<double>(fit_.problem.cols);
  const std::vector<double>& scales = fit_.coordinates.scale;
  if (scales.empty()) return fit_.progress.mean_square;
  double sum = 0;
  for (std::size_t j = 0; j < scales.size(); ++j) {
    sum += fit_.moments.second(j) * scales[j] * scales[j];
  }
  return std::max(sum, 1e-30);
}

}  // namespace

std::unique_ptr<LinearStage> statistics_stage(Fit& fit) {
  return std::make_unique<StatisticsStage>(fit);
}

}  // namespace meanwhile::learn::linear
