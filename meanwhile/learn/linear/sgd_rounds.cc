// The end of a round of either kind of SGD: back to an earlier model when the objective has
// diverged, another round, L-BFGS from here, or the end.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

namespace {

// hybrid: averaging goes on while a round lowers the objective by this part of it.
constexpr double kWorthAveraging = 0.3;
constexpr std::int64_t kMostAveraging = 10;
constexpr double kDiverged = 3;  // times the objective of the first model
constexpr std::int64_t kMostRetreats = 12;

bool lbfgs_follows(const Parameters& parameters) {
  return parameters.send == Send::kModel &&
         (parameters.solver == Solver::kHybrid || parameters.solver == Solver::kAuto);
}

// Back to the last model that was well, with a shorter step; unless the user chose the step.
StageName retreat(Fit& fit, double objective) {
  Progress& progress = fit.progress;
  const bool chosen = fit.parameters.learning_rate > 0;
  if (!chosen && progress.retreating++ > 0 && progress.stage == StageName::kGradient) {
    // The previous model was not better; its sample was easier. Shrink the weights instead.
    for (double& w : fit.w) w *= 0.5;
    return progress.stage;
  }
  if (chosen || ++progress.retreats > kMostRetreats) throw_diverged(fit, objective);
  progress.rate /= 4;
  if (!fit.before.empty()) fit.w = fit.before;
  fit.late_steps.clear();
  if (!fit.squares.empty()) fit.squares.assign(fit.squares.size(), 0.0);
  // Where L-BFGS is to follow, it need not wait for a rate that works.
  return lbfgs_follows(fit.parameters) ? StageName::kLbfgs : progress.stage;
}

// Whether one of the last five rounds changed the weights by more than tol: of a sample, the
// objective goes up and down by chance, and would be at its lowest any time.
bool still_moves(Fit& fit) {
  double moved = 0, size = 0;
  for (std::size_t i = 0; i < fit.w.size(); ++i) {
    moved += (fit.w[i] - fit.before[i]) * (fit.w[i] - fit.before[i]);
    size += fit.w[i] * fit.w[i];
  }
  auto& recent = fit.progress.recent;
  recent.push_back(std::sqrt(moved / std::max(size, 1e-300)));
  if (recent.size() >= kRecent) recent.erase(recent.begin());
  if (recent.size() + 1 < kRecent) return true;
  return *std::max_element(recent.begin(), recent.end()) > fit.parameters.tol;
}

// Whether steps are too long. The objective of fresh reads also rises after workers that were
// behind: there it must be above all of the last rounds.
bool has_risen(const Fit& fit, double objective, double before) {
  const auto& recent = fit.progress.recent;
  if (!fit.has_fresh_reads() || recent.empty()) return objective > before;
  return objective > *std::max_element(recent.begin(), recent.end());
}

StageName after_step(Fit& fit, double objective) {
  Progress& progress = fit.progress;
  const Parameters& parameters = fit.parameters;
  const double before = progress.last < 0 ? progress.initial : progress.last;
  if (lbfgs_follows(parameters)) {
    // The first round has nothing to be compared with but the model it started from.
    const double start = progress.stage_round == 1
                             ? classifies(fit.problem.loss.loss) ? progress.initial : objective
                             : before;
    const bool worth = objective < (1 - kWorthAveraging) * start;
    return !worth || progress.stage_round >= kMostAveraging ? StageName::kLbfgs : progress.stage;
  }
  if (parameters.send == Send::kModel) {
    // Losses of a pass are those on the way, the penalty is that of the start: too small in the
    // first round to be compared with.
    if (progress.stage_round == 1) return progress.stage;
    if (progress.stage_round > 2 && parameters.learning_rate == 0 &&
        has_risen(fit, objective, before)) {
      progress.rate /= 2;
    }
  }
  if (parameters.send == Send::kGradient && parameters.batch_fraction < 1) {
    if (!still_moves(fit)) {
      progress.ended = {Ending::kConverged,
                        fmt::format("converged: none of five rounds changed the weights by tol={}",
                                    parameters.tol)};
    }
  } else if (!still_falls(fit, objective)) {
    progress.ended = {
        Ending::kConverged,
        fmt::format("converged: five rounds lowered the objective by less than tol={}",
                    parameters.tol)};
  }
  return progress.stage;
}

}  // namespace

void throw_diverged(const Fit& fit, double objective) {
  const Progress& progress = fit.progress;
  throw Error(ErrorKind::kFailed,
              "diverged: the objective went from {:.4g} to {:.4g} with learning_rate {:.4g}; try "
              "{:.2g}{}, `solver` lbfgs{}",
              progress.initial, std::isnan(objective) ? INFINITY : objective, progress.rate,
              progress.rate / 10,
              fit.parameters.learning_rate > 0 ? ", none (one is found then)" : "",
              fit.parameters.standardize ? "" : ", or `standardize` when columns differ in scale");
}

bool is_well(const Fit& fit, double objective) {
  return std::isfinite(objective) && objective <= kDiverged * std::max(fit.progress.initial, 1e-9);
}

StageName absorb_sgd(Fit& fit, const Tail& tail, Outcome& outcome,
                     const std::function<void()>& step) {
  Progress& progress = fit.progress;
  open_round(fit, tail, outcome);
  if (progress.ended) return progress.stage;
  outcome.record["learning_rate"] = fit.sgd_options().rate;
  StageName next = progress.stage;
  if (!is_well(fit, outcome.objective)) {
    next = retreat(fit, outcome.objective);
    outcome.objective = progress.last < 0 ? progress.initial : progress.last;
    outcome.record["retreat"] = true;
    outcome.restarted = true;
  } else {
    fit.before = fit.w;
    progress.seen += tail.rows;
    step();
    progress.retreating = 0;
    if (tail.weight > 0) next = after_step(fit, outcome.objective);
  }
  progress.last = outcome.objective;
  return next;
}

}  // namespace meanwhile::learn::linear
