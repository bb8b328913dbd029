// Rounds of a learner that runs ahead (learn/lagged.h), by threads that share memory: a thread that
// finds no shard left in a round goes on with the next, while the others finish theirs. So a slow
// thread delays no other, and the bits are those of any other engine.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/job/sum_engine.h"

namespace meanwhile::job {

// Two learners in the same state take turns: while one is worked with, the other absorbs the total
// of the round before. Both absorb every total. Memory: two models, and updates of two rounds.
class PipelineEngine final : public Engine {
 public:
  // Borrows all; attaches both learners. REQUIRES: options.transport is null, and the learners have
  // no memory. THROWS what attach() throws.
  PipelineEngine(learn::RoundLearner& learner, learn::RoundLearner& twin, const data::Part& part,
                 const SumOptions& options);
  ~PipelineEngine() override;
  PipelineEngine(const PipelineEngine&) = delete;
  PipelineEngine& operator=(const PipelineEngine&) = delete;

  int threads() const { return threads_; }

  std::string name() const override { return learners_[0]->name(); }
  std::int64_t rounds_left() const override { return newest().rounds_left(); }
  learn::State state() const override;
  bool is_alone() const override { return true; }
  // A round that has begun is finished, also when the run is interrupted: the round after it may
  // have begun, too.
  std::optional<Round> round(std::int64_t number, const std::function<Votes()>& mine) override;

 private:
  // A round that is being worked on.
  struct Open {
    explicit Open(int shards) : sum(shards, {}) {}
    exchange::OrderedSum sum;
    std::int64_t number = 0;        // for messages
    std::size_t learner = 0;        // that works on it
    int next = 0, done = 0;         // shards taken, and given
    bool is_open = false;           // shards may be taken
    std::vector<Span> spans = {};   // by shard
    double begin_s = 0, end_s = 0;  // of its first and its last shard
  };

  learn::RoundLearner& newest() const { return *learners_[newest_]; }
  void open(Open& round, std::size_t learner, std::int64_t number) MW_EXCLUDES(mutex_);
  // The next shard to work on. Waits for one; none when `until` is complete, or at the end.
  std::optional<std::pair<Open*, int>> take(const Open* until) MW_EXCLUDES(mutex_);
  void work_until(const Open* complete, int thread) MW_EXCLUDES(mutex_);
  void work_on(Open& round, int shard, int thread) MW_EXCLUDES(mutex_);
  learn::Outcome absorb(Open& round);

  const std::array<learn::RoundLearner*, 2> learners_;
  const data::Part& part_;
  const int shards_, threads_;
  base::ThreadPool alone_{1};               // for absorb(): the other threads go on meanwhile
  std::size_t newest_ = 0;                  // the learner that has absorbed all totals
  std::optional<exchange::Update> missed_;  // the total that the other one has not absorbed

  base::Mutex mutex_;
  base::Condition changed_;
  std::array<Open, 2> rounds_;  // fields but `sum` are guarded by mutex_
  std::size_t now_ = 0;         // the round that round() completes
  std::exception_ptr failure_ MW_GUARDED_BY(mutex_);
  bool ending_ MW_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> others_;  // last: they use all of the above
};

}  // namespace meanwhile::job
