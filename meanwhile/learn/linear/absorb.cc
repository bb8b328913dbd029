// What the summed updates of a round do to the model: an average, a step, or the next point of
// L-BFGS; and when the job is done. All of it is the same on every node, so none has to be told.
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/chunks.h"
#include "meanwhile/learn/linear/sgd_steps.h"
#include "meanwhile/learn/linear/tail.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t kRecent = 6;  // objectives compared: five rounds
// hybrid: averaging goes on while a round lowers the objective by this part of it.
constexpr double kWorthAveraging = 0.3;
constexpr std::int64_t kMostAveraging = 10;
constexpr double kDiverged = 3;  // times the objective of the first model
constexpr std::int64_t kMostRetreats = 12;

}  // namespace

double Linear::penalty_of(std::size_t column) const {
  if (!parameters_.standardize) return 1;
  return std::sqrt(std::max(0.0, second(column) - mean(column) * mean(column)));
}

double Linear::penalty() const {
  return sum(*job_.pool, problem_.intercepts(), [&](std::size_t i) {
    const double w = w_[i] * penalty_of(i / problem_.outputs);
    return parameters_.l1 * std::abs(w) + 0.5 * parameters_.l2 * w * w;
  });
}

Outcome Linear::absorb(std::span<const double> total) {
  Outcome outcome = absorbed(total);
  narrow();
  return outcome;
}

void Linear::narrow() {
  narrow_.clear();
  if (stage() != Stage::kLbfgs || !goes_narrow(problem_, job_.data->x)) return;
  narrow_.resize(w_.size());
  chunks(*job_.pool, w_.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) narrow_[i] = static_cast<float>(w_[i]);
  });
}

Outcome Linear::absorbed(std::span<const double> total) {
  Outcome outcome;
  const Stage now = stage();
  if (now == Stage::kStatistics || now == Stage::kRate) {
    outcome.phase = Phase::kSeed;
    if (now == Stage::kStatistics) {
      absorb_statistics(total);
    } else {
      absorb_rate(total);
    }
    return outcome;
  }
  const Tail tail = Tail::of(total);
  const double penalised = penalty();
  // A sample may by chance be empty.
  const double loss = tail.weight > 0 ? tail.sharp / tail.weight : 0;
  outcome.objective = tail.weight > 0 ? loss + penalised : progress_.last;
  outcome.record = {{"stage", progress_.stage}, {"loss", loss}, {"penalty", penalised}};
  if (now == Stage::kScore) {
    outcome.phase = Phase::kScore;
    look_at_held_out(tail, outcome);
    outcome.done = true;
    outcome.because = progress_.ended;
    return outcome;
  }
  ++progress_.round;
  ++progress_.stage_round;
  if (progress_.initial < 0) progress_.initial = outcome.objective;
  look_at_held_out(tail, outcome);
  if (!progress_.ended.empty()) return outcome;  // the score comes next
  if (now == Stage::kLbfgs) {
    absorb_lbfgs(total, tail, outcome);
  } else {
    outcome.record["learning_rate"] = sgd_options().rate;
    const bool well = std::isfinite(outcome.objective) &&
                      outcome.objective <= kDiverged * std::max(progress_.initial, 1e-9);
    if (!well) {
      retreat(outcome.objective);
      outcome.objective = progress_.last < 0 ? progress_.initial : progress_.last;
      outcome.record["retreat"] = true;
    } else {
      before_ = w_;
      progress_.seen += tail.rows;
      if (now == Stage::kModel) {
        absorb_model(total);
      } else {
        absorb_gradient(total, tail);
      }
      after_sgd(outcome.objective, outcome);
    }
  }
  progress_.last = outcome.objective;
  if (progress_.ended.empty() && progress_.round >= parameters_.max_iter) {
    end(outcome, fmt::format("max_iter: {} rounds done", progress_.round));
  }
  return outcome;
}

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

  const bool averages = parameters_.send == "model";
  const bool newton = parameters_.solver == "lbfgs" || (parameters_.solver == "auto" && dense_);
  if (newton && averages) {
    enter(Stage::kLbfgs);
    return begin_lbfgs();
  }
  if (parameters_.adaptive) squares_.assign(problem_.size(), 0.0);
  const double unit = dense_ ? static_cast<double>(problem_.cols) : progress_.mean_square;
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
    if (averages && parameters_.adaptive) {
      progress_.rate = (classifies(problem_.loss.loss) ? 1 : deviation) / std::sqrt(unit);
    }
    if (averages) return enter(Stage::kRate);
  }
  enter(averages ? Stage::kModel : Stage::kGradient);
}

void Linear::settle_weights() {
  const std::size_t K = problem_.classes.size();
  double weight = progress_.weight;
  if (parameters_.class_weight == "balanced") {
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

void Linear::absorb_rate(std::span<const double> total) {
  const double middle = progress_.rate;
  double lowest = INFINITY;
  for (std::size_t k = 0; k < kRates; ++k) {
    const double mean = total[2 * k] / total[2 * k + 1];  // NaN where the rate was not tried
    if (!(mean < lowest)) continue;
    lowest = mean;
    progress_.rate = middle * std::pow(kRateStep, static_cast<double>(k) - kRateBelow);
  }
  enter(Stage::kModel);
}

void Linear::absorb_model(std::span<const double> total) {
  const std::size_t P = problem_.size(), features = problem_.intercepts();
  coordinates_.enter(problem_, w_);
  if (parameters_.adaptive) {
    const double shards = total[2 * P], rows = progress_.rows / shards;
    for (std::size_t i = 0; i < P; ++i) {
      const double gained = total[P + i];
      if (gained > 0) {
        w_[i] += total[i] / gained;
      } else if (squares_[i] > 0 && i < features) {
        // Nobody moved it, so all agree on what the penalties do to it.
        const double rate = progress_.rate / std::sqrt(squares_[i] + 1e-12) * rows;
        w_[i] = soft(w_[i], rate * parameters_.l1) / (1 + rate * parameters_.l2);
      }
      squares_[i] += gained / shards;
    }
  } else {
    const double shrink = total[P] / total[P + 1], shards = total[P + 1];
    for (std::size_t i = 0; i < features; ++i) w_[i] = total[i] / shards + shrink * w_[i];
    for (std::size_t i = features; i < P; ++i) w_[i] += total[i] / shards;
    if (parameters_.l1 > 0) {
      // A mean is zero only where all are: weights that one step's penalty would end, end here.
      const double step = sgd_options().rate * parameters_.l1;
      for (std::size_t i = 0; i < features; ++i) w_[i] = soft(w_[i], step);
    }
  }
  coordinates_.leave(problem_, w_);
}

// MLlib's step: rate / sqrt(round), the mean gradient of the sample, then the penalties.
void Linear::absorb_gradient(std::span<const double> total, const Tail& tail) {
  if (tail.weight == 0) return;
  const auto t = static_cast<double>(progress_.stage_round);
  const double rate = progress_.rate / std::sqrt(t);
  if (parameters_.average && mean_w_.empty()) mean_w_ = w_;
  for (std::size_t i = 0; i < problem_.size(); ++i) {
    const bool penalised = i < problem_.intercepts();
    const double factor = penalised ? penalty_of(i / problem_.outputs) : 0;
    const double l1 = parameters_.l1 * factor, l2 = parameters_.l2 * factor * factor;
    const double slope = total[i] / tail.weight;
    if (parameters_.adaptive) {
      if (slope == 0 && squares_[i] == 0) continue;
      squares_[i] += slope * slope;
      const double own = progress_.rate / std::sqrt(squares_[i] + 1e-12);
      w_[i] = soft(w_[i] - own * slope, own * l1) / (1 + own * l2);
    } else {
      w_[i] = soft(w_[i] * (1 - rate * l2) - rate * slope, rate * l1);
    }
    if (parameters_.average) mean_w_[i] += (w_[i] - mean_w_[i]) / t;
  }
}

// Back to the last model that was well, with a shorter step; unless the user chose the step.
void Linear::retreat(double objective) {
  const double suggestion = progress_.rate / 10;
  if (parameters_.learning_rate > 0 || ++progress_.retreats > kMostRetreats) {
    throw Error(
        ErrorKind::kFailed,
        "diverged: the objective went from {:.4g} to {:.4g} with learning_rate {:.4g}; try "
        "{:.2g}, or leave it out to have one found{}",
        progress_.initial, objective, progress_.rate, suggestion,
        parameters_.standardize ? "" : "; --standardize helps when columns differ in scale");
  }
  progress_.rate /= 4;
  if (!before_.empty()) w_ = before_;
  if (!squares_.empty()) squares_.assign(squares_.size(), 0.0);
}

// Whether the last five rounds lowered the objective by more than tol.
bool Linear::still_falls(double objective) {
  auto& recent = progress_.recent;
  recent.push_back(objective);
  if (recent.size() > kRecent) recent.erase(recent.begin());
  if (recent.size() < kRecent) return true;
  const double lowest = *std::min_element(recent.begin() + 1, recent.end());
  return recent.front() - lowest > parameters_.tol * std::abs(lowest);
}

void Linear::after_sgd(double objective, Outcome& outcome) {
  const double before = progress_.last < 0 ? progress_.initial : progress_.last;
  const bool hybrid = parameters_.send == "model" &&
                      (parameters_.solver == "hybrid" || parameters_.solver == "auto");
  if (hybrid) {
    // The first round has nothing to be compared with but the model it started from.
    const double start =
        progress_.stage_round == 1
            ? classifies(problem_.loss.loss) ? problem_.loss.value(0, 1) : objective
            : before;
    const bool worth = objective < (1 - kWorthAveraging) * start;
    if (!worth || progress_.stage_round >= kMostAveraging) {
      enter(Stage::kLbfgs);
      begin_lbfgs();
    }
    return;
  }
  if (progress_.stage_round > 1 && objective > before && parameters_.learning_rate == 0 &&
      parameters_.send == "model") {
    progress_.rate /= 2;
  }
  if (!still_falls(objective)) {
    end(outcome, fmt::format("converged: five rounds lowered the objective by less than tol={}",
                             parameters_.tol));
  }
}

// Goes to the score, with the model to be kept.
void Linear::end(Outcome& outcome, const std::string& because) {
  progress_.ended = because;
  progress_.ended_in = progress_.stage;
  const bool held_out = !best_w_.empty();
  if (held_out) {
    w_ = best_w_;
  } else if (stage() == Stage::kLbfgs) {
    leave_lbfgs(lbfgs_->memory().x);
    // This round has looked at it already, unless its own point was worse.
    if (outcome.record.value("step", "") == "better") {
      outcome.done = true;
      outcome.because = because;
      return;
    }
  } else if (!mean_w_.empty()) {
    w_ = mean_w_;
  }
  problem_.loss.smoothing = progress_.smoothing = 0;
  enter(Stage::kScore);
}

void Linear::look_at_held_out(const Tail& tail, Outcome& outcome) {
  if (tail.held_weight == 0) return;
  const double loss = tail.held_loss / tail.held_weight;
  outcome.record["held_out_loss"] = loss;
  if (!problem_.classes.empty()) {
    outcome.record["held_out_accuracy"] = tail.held_right / tail.held_weight;
  }
  if (outcome.phase == Phase::kScore || !progress_.ended.empty()) return;
  if (progress_.best_held_out < 0 || loss < progress_.best_held_out) {
    progress_.best_held_out = loss;
    progress_.since_best = 0;
    best_w_ = w_;
  } else if (++progress_.since_best >= parameters_.patience) {
    end(outcome,
        fmt::format("the held-out loss has not fallen for {} rounds", progress_.since_best));
  }
}

}  // namespace meanwhile::learn::linear
