// Rounds whose workers do not wait for each other (clocks.h), and plain rounds where the learner
// needs whole totals.
//
// A round of the loop is a clock of all workers, settled `staleness` clocks after it was worked on.
// When votes ask for a checkpoint or an end, the clocks that are under way are finished first: all
// workers then have the same model, and the state is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "meanwhile/job/clock_options.h"
#include "meanwhile/job/clocks.h"
#include "meanwhile/job/sum_engine.h"
#include "meanwhile/tables/reads_log.h"

namespace meanwhile::job {

class ClockEngine final : public Engine {
 public:
  // As SumEngine. REQUIRES: sum.transport is not null, and every worker has a shard.
  ClockEngine(learn::RoundLearner& learner, const data::Part& part, const SumOptions& sum,
              const ClockOptions& options);

  int threads() const { return rounds_.threads(); }

  std::string name() const override { return rounds_.name(); }
  std::int64_t rounds_left() const override { return rounds_.rounds_left(); }
  learn::State state() const override { return rounds_.state(); }
  bool is_alone() const override { return false; }
  std::optional<Round> round(std::int64_t number, const std::function<Votes()>& mine) override;
  const tables::ReadsLog* reads() const override { return &log_; }
  void fail(base::ErrorKind kind, std::string_view what) noexcept override {
    rounds_.fail(kind, what);
  }

 private:
  void begin(learn::Moves& moves);
  Round settle();
  void drain();
  void end();

  learn::RoundLearner& learner_;
  const SumOptions sum_;
  const ClockOptions options_;
  const int shards_;
  SumEngine rounds_;  // of stages that need whole totals
  base::ThreadPool pool_;
  tables::ReadsLog log_;
  learn::Moves* moves_ = nullptr;  // while there are clocks
  std::unique_ptr<Clocks> clocks_;
  std::int64_t settled_ = 0, limit_ = 0;  // clocks: settled, and to be done
  bool drains_ = false;                   // no clock begins before all are settled
  bool drained_ = false;
  Votes asked_;  // what began to drain, until all are settled
};

}  // namespace meanwhile::job
