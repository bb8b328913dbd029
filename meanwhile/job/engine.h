// How a round is done: the contract between the loop (loop.h) and what it runs on. An engine knows
// learners, shards and other workers; the loop knows none of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/job/memory_files.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::tables {
class ReadsLog;
}

namespace meanwhile::job {

// Facts that one worker alone knows and all must know, so that they decide alike. Summed over
// workers.
struct Votes {
  double interrupted = 0;       // workers that were told to stop
  double time_is_up = 0;        // workers whose time limit has passed
  double checkpoint_age_s = 0;  // since the last checkpoint, by the worker that writes them

  void add(const Votes& other) {
    interrupted += other.interrupted;
    time_is_up += other.time_is_up;
    checkpoint_age_s += other.checkpoint_age_s;
  }
};

// A stretch of time, for trace.json.
struct Span {
  const char* name = "";
  int thread = 0, shard = -1;
  double begin_s = 0, end_s = 0;
};

struct Round {
  learn::Outcome outcome;
  Votes votes;  // of all workers
  double work_s = 0, exchange_s = 0;
  double bytes_sent = 0;        // by this worker
  base::Json line = {};         // further fields of the line of metrics; null or an object
  std::span<const Span> spans;  // borrowed until the next round
};

// Thread safety: used by one thread. With several workers, every worker makes the same calls.
class Engine {
 public:
  virtual ~Engine() = default;

  // The learner's name, for messages.
  virtual std::string name() const = 0;
  // An upper bound on the kTrain rounds still to come.
  virtual std::int64_t rounds_left() const = 0;
  // The learner's state, complete between any two rounds.
  virtual learn::State state() const = 0;
  // Whether this is the only worker, which may stop by itself.
  virtual bool is_alone() const = 0;

  // Does one round. Nothing when it was interrupted: the learner is then as it was before.
  // `number` is that of the coming kTrain round, for messages. `mine` may be called at any time.
  // THROWS what the learner throws, with round and shard before the message; Error(kFailed) when
  // the objective is not finite; what other workers throw.
  virtual std::optional<Round> round(std::int64_t number, const std::function<Votes()>& mine) = 0;

  // Writes the memory of all shards to files in `folder` and says what was written; nothing when
  // there is no memory, or no worker gives a folder. Collective.
  virtual SavedMemory save_memory(const std::filesystem::path& /*folder*/) { return {}; }

  // Brings together the model of workers that each know a part of it. Called before state().
  // Collective.
  virtual void gather_model() {}

  // The record of what was read, where workers do not wait for each other: complete whenever
  // state() may be asked. Null: there is none.
  virtual const tables::ReadsLog* reads() const { return nullptr; }

  // Ends the job for the other workers, too.
  virtual void fail(base::ErrorKind /*kind*/, std::string_view /*what*/) noexcept {}
};

}  // namespace meanwhile::job
