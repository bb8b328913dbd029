// The common part of all rounds that look at losses: the numbers at the end of an update, held-out
// rows, the objective, and which model is kept in the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

Tail Tail::of(const exchange::Update& total) {
  const auto t = total.dense<double>(kRest).last(kSize);
  return {t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
}

void Tail::put(exchange::Update& update) const {
  const std::array<double, kSize> numbers = {loss,      sharp,       weight,    rows,
                                             held_loss, held_weight, held_right};
  std::copy(numbers.begin(), numbers.end(), update.dense<double>(kRest).last(kSize).begin());
}

exchange::Block rest_block(std::size_t numbers) {
  return {.rows = static_cast<std::int64_t>(numbers + Tail::kSize)};
}

StageName LinearStage::finish(Outcome& /*outcome*/) {
  // Rounds that ran out may be given more: the model they would have gone on from is kept.
  const bool ran_out = fit_.progress.ended.ending == Ending::kRanOut;
  const bool changes = !fit_.best_w.empty() || !fit_.mean_w.empty() || fit_.prunes();
  if (ran_out && changes) fit_.last_w = fit_.w;
  if (!fit_.best_w.empty()) {
    fit_.w = fit_.best_w;
  } else if (!fit_.mean_w.empty()) {
    fit_.w = fit_.mean_w;
  }
  fit_.problem.loss.smoothing = 0;
  return fit_.prunes() ? StageName::kPrune : StageName::kScore;
}

void score_held_out(const Fit& fit, int shard, Tail& tail) {
  const auto add = [&](const Examples& examples, Rows rows) {
    PassOptions options;
    options.rows = rows;
    const LossSums sums = pass(fit.problem, examples, shard, fit.w, options, Gradient{});
    tail.held_loss += sums.sharp;
    tail.held_weight += sums.weight;
    tail.held_right += sums.right;
  };
  if (fit.eval != nullptr) add(*fit.eval, Rows::kAll);
  if (fit.parameters.validation_fraction > 0) add(*fit.examples, Rows::kHeldOut);
}

void work_gradient(const Fit& fit, int shard, const PassOptions& options,
                   exchange::Update& update) {
  Tail tail;
  score_held_out(fit, shard, tail);
  const LossSums sums = pass(fit.problem, *fit.examples, shard, fit.w, options,
                             Gradient::in(update, kFeatures, kRest, fit.problem.outputs));
  tail.loss = sums.loss;
  tail.sharp = sums.sharp;
  tail.weight = sums.weight;
  tail.rows = sums.rows;
  tail.put(update);
}

void record_objective(const Fit& fit, const Tail& tail, Outcome& outcome) {
  const double penalised = fit.mean_penalty.value_or(fit.penalty());
  // A sample may by chance be empty.
  const double loss = tail.weight > 0 ? tail.sharp / tail.weight : 0;
  outcome.objective = tail.weight > 0 ? loss + penalised : fit.progress.last;
  outcome.record = {
      {"stage", to_string(fit.progress.stage)}, {"loss", loss}, {"penalty", penalised}};
}

void record_held_out(const Fit& fit, const Tail& tail, Outcome& outcome) {
  if (tail.held_weight == 0) return;
  outcome.record["held_out_loss"] = tail.held_loss / tail.held_weight;
  if (fit.problem.classes.empty()) return;
  outcome.record["held_out_accuracy"] = tail.held_right / tail.held_weight;
}

void open_round(Fit& fit, const Tail& tail, Outcome& outcome) {
  Progress& progress = fit.progress;
  record_objective(fit, tail, outcome);
  ++progress.round;
  ++progress.stage_round;
  if (progress.initial < 0) progress.initial = outcome.objective;
  record_held_out(fit, tail, outcome);
  if (tail.held_weight == 0) return;
  const double loss = tail.held_loss / tail.held_weight;
  if (progress.best_held_out < 0 || loss < progress.best_held_out) {
    progress.best_held_out = loss;
    progress.since_best = 0;
    fit.best_w = fit.w;
  } else if (++progress.since_best >= fit.parameters.patience) {
    progress.ended = {Ending::kStopped, fmt::format("the held-out loss has not fallen for {}",
                                                    base::counted(progress.since_best, "round"))};
  }
}

bool still_falls(Fit& fit, double objective) {
  auto& recent = fit.progress.recent;
  recent.push_back(objective);
  if (recent.size() > kRecent) recent.erase(recent.begin());
  if (recent.size() < kRecent) return true;
  const double lowest = *std::min_element(recent.begin() + 1, recent.end());
  const double fell = recent.front() - lowest;
  // A clock of fresh reads is of models that are several rounds apart, so that its objective may
  // rise after workers that were behind. It has not converged then.
  return (fit.has_fresh_reads() ? std::abs(fell) : fell) > fit.parameters.tol * std::abs(lowest);
}

}  // namespace meanwhile::learn::linear
