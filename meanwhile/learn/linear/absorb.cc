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
  if (outcome.done) outcome.record["chosen"] = chosen();
  narrow();
  return outcome;
}

// What was left to be chosen, and is of use to whoever wants to say it next time.
Json Linear::chosen() const {
  const bool sgd = progress_.seen > 0, newton = !lbfgs_scale_.empty();
  Json json = {{"solver", sgd && newton ? "hybrid" : sgd ? "sgd" : "lbfgs"}};
  if (sgd) json["learning_rate"] = progress_.rate;
  if (problem_.loss.loss == Loss::kHuber) json["huber_delta"] = progress_.delta;
  if (problem_.outputs > 1) json["multi_class"] = problem_.softmax ? "softmax" : "ovr";
  return json;
}

void Linear::narrow() {
  narrow_.clear();
  if (stage() != Stage::kLbfgs || !goes_narrow(problem_, job_.part->data.x)) return;
  narrow_.resize(w_.size());
  chunks(*job_.pool, w_.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) narrow_[i] = static_cast<float>(w_[i]);
  });
}

Outcome Linear::absorbed(std::span<const double> total) {
  Outcome outcome;
  const Stage now = stage();
  if (now == Stage::kStatistics || now == Stage::kRate) {
    outcome.phase = Phase::kPrepare;
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
    outcome.done = done_ = true;
    outcome.ending = progress_.ended.ending;
    outcome.because = progress_.ended.because;
    return outcome;
  }
  ++progress_.round;
  ++progress_.stage_round;
  if (progress_.initial < 0) progress_.initial = outcome.objective;
  look_at_held_out(tail, outcome);
  if (progress_.ended) return outcome;  // the score comes next
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
      progress_.retreating = 0;
      if (tail.weight > 0) after_sgd(outcome.objective, outcome);
    }
  }
  progress_.last = outcome.objective;
  if (!progress_.ended && progress_.round >= parameters_.max_iter) {
    end(outcome, Ending::kRanOut, fmt::format("max_iter: {} rounds done", progress_.round));
  }
  return outcome;
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
  enter(parameters_.send == Send::kModel ? Stage::kModel : Stage::kGradient);
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
      const std::vector<double>& factor = coordinates_.penalty;
      for (std::size_t i = 0; i < features; ++i) {
        w_[i] = soft(w_[i], factor.empty() ? step : step * factor[i / problem_.outputs]);
      }
    }
  }
  coordinates_.leave(problem_, w_);
}

void Linear::absorb_gradient(std::span<const double> total, const Tail& tail) {
  if (tail.weight == 0) return;
  const auto t = static_cast<double>(progress_.stage_round);
  gradient_step(total, tail.weight, t, progress_.rate, w_, squares_);
  if (!parameters_.average) return;
  if (mean_w_.empty()) mean_w_ = w_;
  for (std::size_t i = 0; i < w_.size(); ++i) mean_w_[i] += (w_[i] - mean_w_[i]) / t;
}

// MLlib's step: rate / sqrt(round), the mean gradient of the sample, then the penalties.
void Linear::gradient_step(std::span<const double> total, double weight, double t, double rate,
                           std::span<double> w, std::span<double> squares) const {
  const double common = rate / std::sqrt(t);
  for (std::size_t i = 0; i < problem_.size(); ++i) {
    const bool penalised = i < problem_.intercepts();
    const double factor = penalised ? penalty_of(i / problem_.outputs) : 0;
    const double l1 = parameters_.l1 * factor, l2 = parameters_.l2 * factor * factor;
    const double slope = total[i] / weight;
    double own = common;
    if (parameters_.adaptive) {
      if (slope == 0 && squares[i] == 0) continue;
      squares[i] += slope * slope;
      own = rate / std::sqrt(squares[i] + 1e-12);
    }
    w[i] = soft(w[i] - own * slope, own * l1) / (1 + own * l2);
  }
}

// Back to the last model that was well, with a shorter step; unless the user chose the step.
void Linear::retreat(double objective) {
  const bool chosen = parameters_.learning_rate > 0;
  if (!chosen && progress_.retreating++ > 0 && stage() == Stage::kGradient) {
    // The model before was no better, it only met rows that suited it. Towards nothing, then.
    for (double& w : w_) w *= 0.5;
    return;
  }
  if (chosen || ++progress_.retreats > kMostRetreats) {
    throw Error(ErrorKind::kFailed,
                "diverged: the objective went from {:.4g} to {:.4g} with learning_rate {:.4g}; try "
                "{:.2g}{}, --solver lbfgs{}",
                progress_.initial, std::isnan(objective) ? INFINITY : objective, progress_.rate,
                progress_.rate / 10, chosen ? ", none (one is found then)" : "",
                parameters_.standardize ? "" : ", or --standardize when columns differ in scale");
  }
  progress_.rate /= 4;
  if (!before_.empty()) w_ = before_;
  if (!squares_.empty()) squares_.assign(squares_.size(), 0.0);
  // Where L-BFGS is to follow, it need not wait for a rate that works.
  const bool follows = parameters_.solver == Solver::kHybrid || parameters_.solver == Solver::kAuto;
  if (follows && parameters_.send == Send::kModel) {
    enter(Stage::kLbfgs);
    begin_lbfgs();
  }
}

// Whether one of the last five rounds changed the weights by more than tol: of a sample, the
// objective goes up and down by chance, and would be at its lowest any time.
bool Linear::still_moves() {
  double moved = 0, size = 0;
  for (std::size_t i = 0; i < w_.size(); ++i) {
    moved += (w_[i] - before_[i]) * (w_[i] - before_[i]);
    size += w_[i] * w_[i];
  }
  auto& recent = progress_.recent;
  recent.push_back(std::sqrt(moved / std::max(size, 1e-300)));
  if (recent.size() >= kRecent) recent.erase(recent.begin());
  if (recent.size() + 1 < kRecent) return true;
  return *std::max_element(recent.begin(), recent.end()) > parameters_.tol;
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
  const bool hybrid = parameters_.send == Send::kModel && (parameters_.solver == Solver::kHybrid ||
                                                           parameters_.solver == Solver::kAuto);
  if (hybrid) {
    // The first round has nothing to be compared with but the model it started from.
    const double start = progress_.stage_round == 1
                             ? classifies(problem_.loss.loss) ? progress_.initial : objective
                             : before;
    const bool worth = objective < (1 - kWorthAveraging) * start;
    if (!worth || progress_.stage_round >= kMostAveraging) {
      enter(Stage::kLbfgs);
      begin_lbfgs();
    }
    return;
  }
  if (parameters_.send == Send::kModel) {
    // Losses of a pass are those on the way, the penalty is that of the start: too small in the
    // first round to be compared with.
    if (progress_.stage_round == 1) return;
    if (progress_.stage_round > 2 && objective > before && parameters_.learning_rate == 0) {
      progress_.rate /= 2;
    }
  }
  if (parameters_.send == Send::kGradient && parameters_.batch_fraction < 1) {
    if (!still_moves()) {
      end(outcome, Ending::kConverged,
          fmt::format("converged: none of five rounds changed the weights by tol={}",
                      parameters_.tol));
    }
  } else if (!still_falls(objective)) {
    end(outcome, Ending::kConverged,
        fmt::format("converged: five rounds lowered the objective by less than tol={}",
                    parameters_.tol));
  }
}

// Goes to the score, with the model to be kept.
void Linear::end(Outcome& outcome, Ending ending, const std::string& because) {
  progress_.ended = {ending, because};
  progress_.ended_in = progress_.stage;
  // Rounds that ran out may be given more: what they would have gone on from is kept.
  const bool walking = stage() == Stage::kLbfgs && lbfgs_->memory().started;
  const bool ran_out = ending == Ending::kRanOut;
  if (ran_out && !walking && (!best_w_.empty() || !mean_w_.empty())) last_w_ = w_;
  const bool held_out = !best_w_.empty();
  if (held_out) {
    w_ = best_w_;
  } else if (walking) {
    leave_lbfgs(lbfgs_->memory().x);
    // This round has looked at it already, unless its own point was worse.
    if (outcome.record.value("step", "") == "better") {
      outcome.done = done_ = true;
      outcome.ending = ending;
      outcome.because = because;
      return;
    }
  } else if (!mean_w_.empty()) {
    w_ = mean_w_;
  }
  problem_.loss.smoothing = 0;
  progress_.stage = "score";
}

void Linear::look_at_held_out(const Tail& tail, Outcome& outcome) {
  if (tail.held_weight == 0) return;
  const double loss = tail.held_loss / tail.held_weight;
  outcome.record["held_out_loss"] = loss;
  if (!problem_.classes.empty()) {
    outcome.record["held_out_accuracy"] = tail.held_right / tail.held_weight;
  }
  if (outcome.phase == Phase::kScore || progress_.ended) return;
  if (progress_.best_held_out < 0 || loss < progress_.best_held_out) {
    progress_.best_held_out = loss;
    progress_.since_best = 0;
    best_w_ = w_;
  } else if (++progress_.since_best >= parameters_.patience) {
    end(outcome, Ending::kStopped,
        fmt::format("the held-out loss has not fallen for {} rounds", progress_.since_best));
  }
}

}  // namespace meanwhile::learn::linear
