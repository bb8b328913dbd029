// Round t is worked on with one learner, round t + 1 with the other, which may begin as soon as
// the total of round t - 1 is absorbed. When the last shard of round t is given, its learner is
// idle: it absorbs the total of round t - 1, which it missed, and that of round t, and opens round
// t + 2. When a learner cannot run ahead (its stage allows no lag, or the last rounds are
// absorbed), rounds are done one by one, and both learners absorb each total.
#include "meanwhile/job/pipeline_engine.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::job {

using base::Error;
using base::now_s;

PipelineEngine::PipelineEngine(learn::RoundLearner& learner, learn::RoundLearner& twin,
                               const data::Part& part, const SumOptions& options)
    : learners_{&learner, &twin},
      part_(part),
      shards_(static_cast<int>(part.shards.size())),
      threads_(std::clamp(options.threads, 1, shards_)),
      rounds_{Open(shards_), Open(shards_)} {
  for (learn::RoundLearner* each : learners_) {
    each->attach({&part_, options.eval, options.seed, options.release, &alone_, false, true});
  }
  const auto end = [this] {
    base::MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  };
  others_ = base::start_threads(
      threads_ - 1, [this](int thread) { work_until(nullptr, thread + 1); }, end);
}

PipelineEngine::~PipelineEngine() {
  {
    base::MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : others_) thread.join();
}

learn::State PipelineEngine::state() const {
  learn::State state = newest().state();
  learn::put_table(state, part_.data.table.get());
  return state;
}

void PipelineEngine::open(Open& round, std::size_t learner, std::int64_t number) {
  round.sum.restart(learners_[learner]->update_shape());
  base::MutexLock lock(mutex_);
  round.number = number;
  round.learner = learner;
  round.next = round.done = 0;
  round.spans.assign(static_cast<std::size_t>(shards_), {});
  round.begin_s = round.end_s = now_s();
  round.is_open = true;
  changed_.notify_all();
}

std::optional<std::pair<PipelineEngine::Open*, int>> PipelineEngine::take(const Open* until) {
  base::MutexLock lock(mutex_);
  for (;;) {
    if (failure_ || ending_ || (until != nullptr && until->done == shards_)) return std::nullopt;
    // The present round first: all wait for it.
    for (Open* round : {&rounds_[now_], &rounds_[1 - now_]}) {
      if (round->is_open && round->next < shards_) return std::pair(round, round->next++);
    }
    changed_.wait(mutex_);
  }
}

void PipelineEngine::work_until(const Open* complete, int thread) {
  while (const auto taken = take(complete)) {
    try {
      work_on(*taken->first, taken->second, thread);
    } catch (...) {
      base::MutexLock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }
}

void PipelineEngine::work_on(Open& round, int shard, int thread) {
  const double begin_s = now_s();
  learn::ShardMemory none;
  try {
    exchange::Update update = round.sum.take();
    learners_[round.learner]->work(shard, none, update);
    round.sum.give(shard, std::move(update));
  } catch (Error& e) {
    e.in(fmt::format("{} round {}, shard {}", name(), round.number, shard));
    throw;
  }
  base::MutexLock lock(mutex_);
  round.end_s = now_s();
  round.spans[static_cast<std::size_t>(shard)] = {"work", thread, shard, begin_s, round.end_s};
  if (++round.done == shards_) changed_.notify_all();
}

// The total of a complete round. Its learner is idle, and so is the other unless the next round is
// open.
learn::Outcome PipelineEngine::absorb(Open& round) {
  learn::RoundLearner& learner = *learners_[round.learner];
  learn::RoundLearner& other = *learners_[1 - round.learner];
  const exchange::Update& total = round.sum.total();
  if (round.learner != newest_ && missed_) {
    learner.absorb(*missed_);
    missed_.reset();
  }
  learn::Outcome outcome = learner.absorb(total);
  check_objective(outcome);
  newest_ = round.learner;
  if (rounds_[1 - now_].is_open) {
    missed_ = total;
  } else {
    other.absorb(total);
  }
  return outcome;
}

std::optional<Round> PipelineEngine::round(std::int64_t number,
                                           const std::function<Votes()>& mine) {
  const double begin_s = now_s();
  if (!rounds_[now_].is_open) open(rounds_[now_], newest_, number);
  Open& present = rounds_[now_];
  Open& next = rounds_[1 - now_];
  // The learner that does not work on the present round has absorbed all totals before it.
  if (threads_ > 1 && learners_[1 - present.learner]->run_ahead()) {
    open(next, 1 - present.learner, number + 1);
  }
  work_until(&present, 0);
  {
    base::MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    present.is_open = false;
  }
  const double absorb_s = now_s();
  Round round;
  try {
    round.outcome = absorb(present);
  } catch (Error& e) {
    e.in(fmt::format("{} round {}", name(), number));
    throw;
  }
  present.spans.push_back({"absorb", 0, -1, absorb_s, now_s()});
  round.spans = present.spans;
  round.work_s = absorb_s - begin_s;
  round.votes = mine();
  base::MutexLock lock(mutex_);
  if (next.is_open) now_ = 1 - now_;
  return round;
}

}  // namespace meanwhile::job
