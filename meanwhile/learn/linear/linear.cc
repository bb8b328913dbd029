// A linear model goes from stage to stage (stages.h): each round is worked on, absorbed and
// followed as the present stage says. All of it is the same on every worker, so none has to be
// told.
#include "meanwhile/learn/linear/linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/counted.h"
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

Linear::Linear(Kind kind, Parameters parameters)
    : fit_(kind, std::move(parameters)), stages_{statistics_stage(fit_), rate_stage(fit_),
                                                 model_stage(fit_),      gradient_stage(fit_),
                                                 lbfgs_stage(fit_),      working_set_stage(fit_),
                                                 prune_stage(fit_),      score_stage(fit_)} {}

Linear::~Linear() = default;

void Linear::attach(const Attachment& attachment) {
  if (complete_) refuse_to_go_on();
  fit_.attach(attachment);
  if (fit_.lag != 1) fit_.late_steps.clear();
  stage().begin();
}

exchange::UpdateShape Linear::update_shape() const { return stage().update_shape(); }

void Linear::work(int shard, ShardMemory& /*memory*/, exchange::Update& update) {
  stage().work(shard, update);
}

void Linear::enter(StageName next) {
  Progress& progress = fit_.progress;
  if (next == progress.stage) return;
  progress.stage = next;
  fit_.late_steps.clear();
  // Pruning and the score belong to the stage before.
  if (next < StageName::kPrune) {
    progress.stage_round = 0;
    progress.recent.clear();
  }
  stage().begin();
}

Outcome Linear::absorb(const exchange::Update& total) {
  Outcome outcome;
  const StageName next = stage().absorb(total, outcome);
  end_round(outcome, next);
  return outcome;
}

// Goes on after a round that was absorbed: `next`, or the end.
void Linear::end_round(Outcome& outcome, StageName next) {
  Progress& progress = fit_.progress;
  enter(next);
  if (outcome.phase == Phase::kTrain) {
    if (!progress.ended && progress.round >= fit_.most_rounds()) {
      progress.ended = {Ending::kRanOut,
                        fmt::format("max_iter: {} done", base::counted(progress.round, "round"))};
    }
    if (progress.ended) {
      progress.ended_in = progress.stage;
      enter(stage().finish(outcome));
    }
  }
  if (!outcome.done()) return;
  outcome.record["chosen"] = chosen();
  if (fit_.path.empty()) return;
  outcome.record["path"] = path_json(fit_.path);
  outcome.record["gap"] = fit_.path[chosen_point(fit_.path)].gap;
}

Moves* Linear::moves() {
  if (stage().name() != StageName::kModel || !has_moves(fit_)) return nullptr;
  if (moves_ == nullptr) {
    moves_ =
        linear_moves(fit_, [this](Outcome& outcome, StageName next) { end_round(outcome, next); });
  }
  return moves_.get();
}

// Parameters that were left to be chosen, for a user who wants to give them the next time.
Json Linear::chosen() const {
  const bool sgd = fit_.progress.seen > 0;
  const bool sets = fit_.progress.ended_in == StageName::kWorkingSet;
  const Solver solver = sets          ? Solver::kWorkingSet
                        : !sgd        ? Solver::kLbfgs
                        : fit_.newton ? Solver::kHybrid
                                      : Solver::kSgd;
  Json json = {{"solver", to_string(solver)}};
  if (sgd) json["learning_rate"] = fit_.progress.rate;
  if (!fit_.path.empty()) json["l1"] = fit_.l1();
  if (fit_.problem.loss.loss == Loss::kHuber) json["huber_delta"] = fit_.progress.delta;
  if (fit_.problem.outputs > 1) {
    json["multi_class"] = to_string(fit_.problem.softmax ? MultiClass::kSoftmax : MultiClass::kOvr);
  }
  return json;
}

int Linear::max_lag() const { return stage().max_lag(); }

std::int64_t Linear::rounds_left() const {
  return std::max<std::int64_t>(0, fit_.most_rounds() - fit_.progress.round);
}

}  // namespace meanwhile::learn::linear
