// The loop: rounds of work, sum and absorb until the learner says that it is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "meanwhile/base/trace.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/part.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// How the sums of several nodes become one: see exchange/.
enum class Exchange { kAllreduce, kTree };

struct TrainOptions {
  int workers = 0;  // threads of this node; 0: all the machine offers
  int shards = 0;   // 0: data::default_shards(). Of a Part: those it was dealt to
  std::uint64_t seed = 0;
  std::int64_t rounds_done = 0;  // rounds behind the state that the learner was restored from
  double time_limit_s = 0;       // 0: none. Checked after each kTrain round: there is a model then
  double checkpoint_seconds = 10;  // 0: after every kTrain round
  // Of mapped data kept resident; 0: three quarters of what the machine or the cgroup has.
  std::int64_t memory_limit_bytes = 0;
  // The other nodes of the job; null: there are none. Every node calls train() with its own part of
  // the same data, a learner in the same state and the same options (but for workers).
  transport::Transport* transport = nullptr;
  Exchange exchange = Exchange::kAllreduce;
  const data::Part* eval = nullptr;  // held-out rows for learners that look at some
  base::Json predicted = {};         // of a round of training: goes to every line of metrics.jsonl
};

// Where the time went, in seconds.
struct Parts {
  double work = 0, exchange = 0, absorb = 0;  // of kTrain rounds; absorb: and all that is left
  double seed = 0, score = 0;                 // of the other rounds
  double bytes = 0;                           // sent by this node in kTrain rounds
  std::int64_t rounds = 0;                    // kTrain

  void add(const learn::Outcome& outcome, double work_s, double exchange_s, double seconds);
};

// The same of one round, as a line of metrics.jsonl says it.
base::Json parts_json(double work_s, double exchange_s, double seconds);

struct RoundEvent {
  std::int64_t round = 0;  // kTrain rounds done, this one included
  std::int64_t rounds_left = 0;
  double seconds = 0;    // of this round
  double elapsed_s = 0;  // since training began, the time before a resume included
  learn::Outcome outcome;
};

struct TrainResult {
  std::int64_t rounds = 0;  // kTrain rounds, those before a resume included
  std::string stopped_because;
  bool done = false;         // the learner said so; if not, the job can be resumed
  bool interrupted = false;  // `stop` was set: a checkpoint was written, but no model
  // Of the last kTrain or kScore round; NaN when this call finished none.
  double objective = std::numeric_limits<double>::quiet_NaN();
  int workers = 0, shards = 0;  // workers: threads of all nodes
  int nodes = 1;
  double train_s = 0;  // of this call
  std::string model_sha256;
  base::Json record;  // further measures of the last round
  Parts parts;        // of this call
};

// Trains `learner` on `data` and returns when it is done, when `stop` becomes true (checked between
// shards), or at the time limit. With `run`, keeps metrics.jsonl, checkpoints, trace.json and
// model.safetensors there, and in run.json what ran and how it ended. `observe`, if set, is told of
// every round, on the calling thread.
//
// With several nodes the result is the same on all, but for times; `run` is for one of them. A node
// that is told to stop, or whose time is up, stops all after the present round.
// THROWS what the learner throws, with its name, the round and the shard before the message;
// Error(kFailed) when the objective is not finite. What one node throws, all throw: "worker 3:
// ...".
TrainResult train(learn::RoundLearner& learner, const data::Part& data, const TrainOptions& options,
                  RunDirectory* run = nullptr, const std::atomic<bool>* stop = nullptr,
                  const std::function<void(const RoundEvent&)>& observe = {});
// All rows are here, and this is the only node.
TrainResult train(learn::RoundLearner& learner, const data::Dataset& data,
                  const TrainOptions& options, RunDirectory* run = nullptr,
                  const std::atomic<bool>* stop = nullptr,
                  const std::function<void(const RoundEvent&)>& observe = {});

}  // namespace meanwhile::job
