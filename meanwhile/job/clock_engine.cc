#include "meanwhile/job/clock_engine.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/job/round_log.h"

namespace meanwhile::job {

using base::Error;

ClockEngine::ClockEngine(learn::RoundLearner& learner, const data::Part& part,
                         const SumOptions& sum, const ClockOptions& options)
    : learner_(learner),
      sum_(sum),
      options_(options),
      shards_(static_cast<int>(part.shards.size())),
      rounds_(learner, part, sum),
      pool_(rounds_.threads()) {
  if (options.before != nullptr) log_ = *options.before;
}

void ClockEngine::begin(learn::Moves& moves) {
  moves_ = &moves;
  transport::Transport& transport = *sum_.transport;
  if (log_.stretches().empty()) {
    log_ =
        tables::ReadsLog(options_.run, options_.staleness, static_cast<std::int64_t>(moves.size()));
  }
  clocks_ = std::make_unique<Clocks>(transport, moves, pool_, shards_, options_.staleness);
  settled_ = 0;
  limit_ = learner_.rounds_left();
  drains_ = drained_ = false;
  clocks_->begin();
}

void ClockEngine::drain() {
  log_.add(clocks_->drain());
  drained_ = true;
}

void ClockEngine::end() {
  if (!drained_) drain();
  clocks_->close();
  clocks_.reset();
  moves_ = nullptr;
  learner_.set_ahead(0);
}

std::optional<Round> ClockEngine::round(std::int64_t number, const std::function<Votes()>& mine) {
  if (clocks_ == nullptr) {
    learn::Moves* const moves = learner_.moves();
    if (moves == nullptr || learner_.rounds_left() == 0) return rounds_.round(number, mine);
    begin(*moves);
  }
  try {
    for (;;) {
      const std::int64_t done = clocks_->done();
      const bool last = drains_ || done == limit_;
      if (last && !drained_) drain();
      if (settled_ < done && (last || settled_ < done - options_.staleness)) return settle();
      if (last) {  // all is settled, and the run goes on
        drains_ = drained_ = false;
        clocks_->begin();
      }
      learner_.set_ahead(static_cast<int>(clocks_->done() - settled_));
      clocks_->work(mine(), limit_);
    }
  } catch (Error& e) {
    e.in(fmt::format("{} round {}", name(), number));
    throw;
  }
}

// The next clock that all workers have done.
Round ClockEngine::settle() {
  const Clocks::Settled settled = clocks_->settle(settled_);
  learner_.set_ahead(0);
  Round round;
  round.outcome = moves_->settle(settled.summary);
  check_objective(round.outcome);
  ++settled_;
  const bool ends = round.outcome.done() || learner_.moves() != moves_;
  const Votes& votes = settled.votes;
  if (!drains_ &&
      (votes.interrupted > 0 || votes.time_is_up > 0 ||
       (votes.checkpoint_age_s > 0 && votes.checkpoint_age_s >= options_.checkpoint_s))) {
    drains_ = true;
    asked_ = votes;
  }
  // The loop learns of votes when the state is complete.
  if (drains_ && settled_ == clocks_->done() && !ends) {
    if (!drained_) drain();
    round.votes = std::exchange(asked_, {});
  }
  const Clocks::Times times = clocks_->take_times();
  round.work_s = times.work_s;
  round.exchange_s = times.wait_s;
  round.bytes_sent = static_cast<double>(times.traffic.bytes);
  round.line["exchange"] = {{"seconds", times.wait_s},
                            {"messages", times.traffic.messages},
                            {"bytes", times.traffic.bytes}};
  if (!times.histogram.empty()) {
    round.line["staleness"] = staleness_json(times.histogram, times.waits_saved);
  }
  if (ends) end();
  return round;
}

}  // namespace meanwhile::job
