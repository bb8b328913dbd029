// Rounds until done, whatever does a round: stopping, time limit, votes, checkpoints, metrics,
// trace.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "meanwhile/job/engine.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/job/run_directory.h"

namespace meanwhile::job {

struct LoopOptions {
  std::int64_t rounds_done = 0;     // rounds behind the state that the learner was restored from
  std::int64_t metrics_lines = -1;  // lines of metrics.jsonl behind it; -1: unknown
  double time_limit_s = 0;  // 0: none. Checked after each kTrain round: there is a model then
  double checkpoint_seconds = 10;  // 0: after every kTrain round
  std::string data_sha256 = {};    // of the data, for checkpoints and the model
  base::Json predicted = {};       // of a round of training: goes to every line of metrics.jsonl
  base::Json about = {};           // further fields of run.json, written when training begins
  bool returns_model = false;      // LoopResult::model
};

struct RoundEvent {
  std::int64_t round = 0;  // kTrain rounds done, this one included
  std::int64_t rounds_left = 0;
  double seconds = 0;    // of this round
  double elapsed_s = 0;  // since training began, the time before a resume included
  learn::Outcome outcome;
};
using ObserveRound = std::function<void(const RoundEvent&)>;

struct LoopResult {
  std::int64_t rounds = 0;  // kTrain rounds, those before a resume included
  std::string stopped_because;
  learn::Ending ending = learn::Ending::kNone;
  bool done = false;         // the learner said so; if not, the job can be resumed
  bool interrupted = false;  // `stop` was set: a checkpoint was written, but no model
  // The objective of the last kTrain or kScore round; NaN when there was none.
  double objective = std::numeric_limits<double>::quiet_NaN();
  double train_s = 0;  // of this call
  std::string model_sha256;
  // The file of the model as it is, also after an interrupt; empty where it was not asked for, or
  // no round of training was done.
  std::vector<std::byte> model;
  base::Json record = base::Json::object();  // further measures of the last round
  SecondsByPhase seconds_by_phase;           // of this call
};

// Runs rounds of `engine` until its learner is done, `stop` becomes true, or the time limit is
// reached. With `run`, keeps metrics.jsonl, checkpoints, trace.json and model.safetensors there,
// and in run.json how it ended. `observe`, if set, is told of every round, on the calling thread.
//
// With several workers the result is the same on all, but for times; `run` is for one of them. A
// worker that is told to stop, or whose time is up, stops all after the present round.
// THROWS what Engine::round() does, after it has told the other workers.
LoopResult run_loop(Engine& engine, const LoopOptions& options, RunDirectory* run = nullptr,
                    const std::atomic<bool>* stop = nullptr, const ObserveRound& observe = {});

}  // namespace meanwhile::job
