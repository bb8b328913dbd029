// Where the workers of a run live, and how they do its rounds: implemented in runtime/. Nothing
// else in the library compares runtimes; the plan knows them by what they say in deployment().
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/job/observer.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/run_spec.h"
#include "meanwhile/learn/entry.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// The medium between the workers of a run.
enum class Medium { kMemory, kNetwork, kStorage };

// The runtimes there are, for flags and help.
struct RuntimeKind {
  std::string_view name;
  Medium medium;
};
inline constexpr RuntimeKind kRuntimeKinds[] = {
    {"threads", Medium::kMemory}, {"mpi", Medium::kNetwork}, {"storage", Medium::kStorage}};
// The name of the usual runtime of a medium.
std::string_view runtime_name(Medium medium);

// A runtime as run.json and the plan describe it.
struct Deployment {
  std::string runtime;  // its name
  Medium medium = Medium::kMemory;
  int workers = 1;    // processes, or what stands for them
  int threads = 1;    // of each worker
  int together = 1;   // workers that share a computer
  bool open = false;  // the user fixed no number, so that the plan may choose a smaller one
};

// One worker, as its runtime started it.
struct Worker {
  transport::Transport* transport = nullptr;  // to the other workers; null: there are none
  int load_threads = 1;                       // threads that read the data
  bool reports = true;                        // the result of this worker is that of its process

  bool first() const { return transport == nullptr || transport->rank() == 0; }
};

// A run that is ready for its rounds. Everything is borrowed.
struct Training {
  const RunSpec& spec;
  const learn::Entry& entry;
  const base::Json& parameters;  // settled
  learn::RoundLearner& learner;  // in the state to begin from; not attached
  data::Part& part;              // the rows of this worker's shards; may be given up
  Observer& observer;
  data::Part* eval = nullptr;           // held-out rows, or none
  learn::RoundLearner* twin = nullptr;  // as TrainOptions::twin
  std::uint64_t seed = 0;
  int staleness = 0;                           // what `learner` was made with
  std::optional<ClockOptions> clocks = {};     // fresh reads; not set: rounds
  const tables::ReadsLog* replayed = nullptr;  // that `learner` repeats; null: none
  std::int64_t rounds_done = 0;                // behind the learner's state
  std::int64_t metrics_lines = -1;             // of metrics.jsonl behind it; -1: unknown
  bool resumed = false;
  // The file of the state that the learner was restored from, for the memory of shards. Empty: a
  // new run, or other data, whose shards have none.
  std::filesystem::path resumed_from = {};
  Exchange exchange = Exchange::kAllreduce;
  base::Json predicted = {};          // of a round, for metrics.jsonl
  RunDirectory* directory = nullptr;  // of the first worker
};

struct Trained {
  TrainResult result;
  base::Json record = base::Json::object();  // further fields of run.json and of the result
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual Deployment deployment() const = 0;
  // The plan's choice: as many workers, or threads where a process is the only worker.
  // REQUIRES: deployment().open; at most as many as there are.
  virtual void use(int workers) = 0;
  // THROWS Error(kUsage) for a wish that this runtime cannot fulfil.
  virtual void check(const RunSpec& /*spec*/) const {}

  // Calls `body` for every worker of this process, each on a thread of its own, the first on the
  // calling thread; returns when all have. What one worker of the run throws, all throw.
  virtual void each_worker(const std::function<void(const Worker&)>& body) = 0;

  // Does the rounds. Called by `body`, by every worker. THROWS what the learner, the transport or
  // the store throw.
  virtual Trained train(const Worker& worker, const Training& training) = 0;
};

// The rounds of a worker that has its rows here and meets the others through its transport; for
// runtimes. `threads`: of this worker.
Trained train_here(const Worker& worker, const Training& training, int threads);

}  // namespace meanwhile::job
