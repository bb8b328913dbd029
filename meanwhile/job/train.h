// Training a RoundLearner on rows: the loop (loop.h) over a sum engine (sum_engine.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/part.h"
#include "meanwhile/job/clock_options.h"
#include "meanwhile/job/exchange.h"
#include "meanwhile/job/loop.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

struct TrainOptions {
  int threads = 0;  // of this worker; 0: all the machine offers
  int shards = 0;   // 0: data::default_shards(). Of a Part: those it was dealt to
  std::uint64_t seed = 0;
  std::int64_t rounds_done = 0;     // rounds behind the state that the learner was restored from
  std::int64_t metrics_lines = -1;  // lines of metrics.jsonl behind it; -1: unknown
  double time_limit_s = 0;  // 0: none. Checked after each kTrain round: there is a model then
  double checkpoint_seconds = 10;  // 0: after every kTrain round
  // Limit of resident mapped data; 0: three quarters of what the machine or the cgroup has.
  std::int64_t memory_limit_bytes = 0;
  // The other workers of the run; null: there are none. Every worker calls train() with its own
  // part of the same data, a learner in the same state and the same options (but for threads).
  transport::Transport* transport = nullptr;
  Exchange exchange = Exchange::kAllreduce;
  // 2: parts have the rows of neighbours' shards, too (replicate.h): SumOptions::replicas.
  int replicas = 1;
  const data::Part* eval = nullptr;  // held-out rows for learners that look at some
  // A second learner in the same state, for rounds that overlap in one process
  // (pipeline_engine.h); null: they do not. Of no use with other workers.
  learn::RoundLearner* twin = nullptr;
  std::optional<ClockOptions> clocks = {};  // workers do not wait for each other at every round
  base::Json predicted = {};   // of a round of training: goes to every line of metrics.jsonl
  bool returns_model = false;  // LoopResult::model
  // The file that the learner was restored from. Needed by learners with shard memory, whose files
  // lie beside it.
  std::filesystem::path resumed_from = {};
};

struct TrainResult : LoopResult {
  // Fresh reads that lacked 0, 1, 2 ... clocks of another worker (tables/reads_log.h).
  std::vector<std::int64_t> observed_staleness = {};
  tables::Waits waits = {};  // that fresh reads saved
  int threads = 0;           // of this worker
  int workers = 1;
  int shards = 0;
};

// Trains `learner` on `data`: see run_loop(). What one worker throws, all throw: "worker 3: ...".
// THROWS what the learner throws, with its name, the round and the shard before the message;
// Error(kFailed) when the objective is not finite.
TrainResult train(learn::RoundLearner& learner, const data::Part& data, const TrainOptions& options,
                  RunDirectory* run = nullptr, const std::atomic<bool>* stop = nullptr,
                  const ObserveRound& observe = {});
// All rows are here, and this is the only worker.
TrainResult train(learn::RoundLearner& learner, const data::Dataset& data,
                  const TrainOptions& options, RunDirectory* run = nullptr,
                  const std::atomic<bool>* stop = nullptr, const ObserveRound& observe = {});

}  // namespace meanwhile::job
