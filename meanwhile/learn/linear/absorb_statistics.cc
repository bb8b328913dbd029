// What the statistics settle before the first step: weights of classes, the coordinates of SGD, the
// rate to try first, and the stage that comes next.
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/tail.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

void Linear::absorb_statistics(std::span<const double> total) {
  const std::size_t K = problem_.classes.size();
  progress_.rows = total[0];
  progress_.weight = total[1];
  if (!(progress_.weight > 0)) {
    throw Error(ErrorKind::kInput, "no row to learn from has a weight above 0");
  }
  const double mean = total[2] / total[1];
  const double deviation = std::sqrt(std::max(0.0, total[3] / total[1] - mean * mean));
  progress_.mean_square = std::max(total[4] / total[0], 1e-30);
  class_sums_.assign(total.begin() + kStatisticsHead,
                     total.begin() + static_cast<std::ptrdiff_t>(kStatisticsHead + K));
  for (std::size_t k = 0; k < K; ++k) {
    if (class_sums_[k] == 0 && initial_classes_.empty()) {
      throw Error(ErrorKind::kInput,
                  "no row of class {} to learn from: all are held out or weigh 0",
                  problem_.classes[k]);
    }
  }
  if (uses_moments()) {
    moments_.assign(total.begin() + static_cast<std::ptrdiff_t>(kStatisticsHead + K), total.end());
    for (double& moment : moments_) moment /= progress_.weight;
  }
  progress_.delta = parameters_.huber_delta;
  if (progress_.delta == 0) progress_.delta = deviation > 0 ? deviation / 2 : 1;
  problem_.loss.delta = progress_.delta;
  settle_weights();
  settle_coordinates();
  // Regression starts at the mean, so that the first steps are not all about the intercept.
  const bool fresh = std::all_of(w_.begin(), w_.end(), [](double w) { return w == 0; });
  if (kind_ == Kind::kLinear && problem_.intercept && fresh) w_[problem_.intercepts()] = mean;
  if (fresh) progress_.initial = initial_objective(total[3] / total[1], deviation);

  const bool averages = parameters_.send == Send::kModel;
  // Averaging pays where a pass has many rows to learn each weight from.
  const bool many_rows =
      !dense_ && progress_.rows > kRowsForAveraging * static_cast<double>(problem_.cols);
  const bool newton =
      parameters_.solver == Solver::kLbfgs || (parameters_.solver == Solver::kAuto && !many_rows);
  if (newton && averages) {
    enter(Stage::kLbfgs);
    return begin_lbfgs();
  }
  if (parameters_.adaptive) squares_.assign(problem_.size(), 0.0);
  const double unit = averages ? mean_square() : progress_.mean_square;
  const double curvature = std::max(problem_.loss.curvature(), 1.0);
  if (parameters_.learning_rate > 0) {
    progress_.rate = parameters_.learning_rate;
    if (progress_.rate * parameters_.l2 >= 1) {
      throw Error(ErrorKind::kUsage,
                  "learning_rate times l2 is {}; it must be below 1: try a rate of {:.3g}",
                  progress_.rate * parameters_.l2, 1 / (curvature * unit));
    }
  } else if (progress_.rate == 0) {
    progress_.rate = 1 / (curvature * (unit + (problem_.intercept ? 1 : 0)));
    if (parameters_.adaptive) {
      const double size = classifies(problem_.loss.loss) || deviation == 0 ? 1 : deviation;
      progress_.rate = size / std::sqrt(unit);
    }
    return enter(Stage::kRate);
  }
  enter(averages ? Stage::kModel : Stage::kGradient);
}

// Of a model that knows nothing, or a little more than that: what diverges goes far beyond.
double Linear::initial_objective(double mean_square, double deviation) const {
  const auto C = static_cast<double>(problem_.outputs);
  if (problem_.softmax) return std::log(C);
  if (!problem_.classes.empty()) return C * problem_.loss.value(0, 1);
  // The deviation is a difference: of labels that hardly differ it may be off by their rounding.
  return problem_.intercept ? 0.5 * std::max(deviation * deviation, 1e-10 * mean_square)
                            : 0.5 * mean_square;
}

// Of the rows as SGD sees them.
double Linear::mean_square() const {
  if (dense_) return static_cast<double>(problem_.cols);
  if (coordinates_.scale.empty()) return progress_.mean_square;
  double sum = 0;
  for (std::size_t j = 0; j < coordinates_.scale.size(); ++j) {
    const double scale = coordinates_.scale[j];
    sum += second(j) * scale * scale;
  }
  return std::max(sum, 1e-30);
}

void Linear::settle_weights() {
  const std::size_t K = problem_.classes.size();
  double weight = progress_.weight;
  if (parameters_.class_weight == ClassWeight::kBalanced) {
    problem_.class_weights.assign(K, 1.0);
    for (std::size_t k = 0; k < K; ++k) {
      if (class_sums_[k] > 0) {
        problem_.class_weights[k] = weight / (static_cast<double>(K) * class_sums_[k]);
      }
    }
  }
  if (!problem_.class_weights.empty()) {
    weight = 0;
    for (std::size_t k = 0; k < K; ++k) weight += class_sums_[k] * problem_.class_weights[k];
  }
  progress_.mean_weight = weight / progress_.rows;
  if (!(weight > 0)) {
    throw Error(ErrorKind::kUsage, "class_weight: every row to learn from gets a weight of 0");
  }
}

void Linear::settle_coordinates() {
  coordinates_ = {};
  if (moments_.empty() || !(dense_ || parameters_.standardize)) return;
  const std::size_t D = static_cast<std::size_t>(problem_.cols);
  coordinates_.scale.resize(D);
  const bool centred = dense_ && problem_.intercept;
  if (centred) coordinates_.mean.resize(D);
  for (std::size_t j = 0; j < D; ++j) {
    if (centred) coordinates_.mean[j] = mean(j);
    const double centre = centred ? mean(j) * mean(j) : 0;
    const double deviation = std::sqrt(std::max(0.0, second(j) - centre));
    // A column that never changes has nothing to be scaled by.
    const bool constant = deviation <= 1e-8 * std::sqrt(second(j)) || deviation == 0;
    coordinates_.scale[j] = constant ? 1 : 1 / deviation;
  }
  if (!dense_) return;
  coordinates_.penalty.resize(D);
  for (std::size_t j = 0; j < D; ++j) {
    coordinates_.penalty[j] = penalty_of(j) * coordinates_.scale[j];
  }
}

}  // namespace meanwhile::learn::linear
