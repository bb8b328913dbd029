// The loop: rounds of work, sum and absorb until the learner says that it is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "meanwhile/base/trace.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::job {

struct TrainOptions {
  int workers = 0;  // threads; 0: all the machine offers
  int shards = 0;   // 0: data::default_shards()
  std::uint64_t seed = 0;
  double time_limit_s = 0;          // 0: none. Checked between rounds
  double checkpoint_seconds = 10;   // 0: after every round
  std::int64_t memory_limit_bytes = 0;  // of mapped data kept resident; 0: three quarters of the machine's
};

struct RoundEvent {
  std::int64_t round = 0;  // kTrain rounds done, this one included
  std::int64_t rounds_left = 0;
  double seconds = 0;   // of this round
  double elapsed_s = 0;  // since training began
  learn::Outcome outcome;
};

struct TrainResult {
  std::int64_t rounds = 0;
  std::string stopped_because;
  bool interrupted = false;  // a checkpoint to resume from was written, but the job is not done
  double objective = 0;
  int workers = 0, shards = 0;
  double train_s = 0;
  std::string model_sha256;
};

// Trains `learner` on `data` and returns when it is done, when `stop` becomes true (checked between
// shards), or at the time limit. With `run`, keeps metrics.jsonl, checkpoints, trace.json and
// model.safetensors there. `observe`, if set, is told of every round, on the calling thread.
// THROWS what the learner throws, with the round added to the message.
TrainResult train(learn::Learner& learner, const data::Dataset& data, const TrainOptions& options,
                  RunDirectory* run = nullptr, const std::atomic<bool>* stop = nullptr,
                  const std::function<void(const RoundEvent&)>& observe = {});

}  // namespace meanwhile::job
