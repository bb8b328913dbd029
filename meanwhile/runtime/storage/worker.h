// A worker: joins a job that is at a store, takes what there is to do, and stays until the job has
// ended. Any number of them, on any machines, at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "meanwhile/job/train.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

struct WorkerOptions {
  std::string id;  // among all workers of the job, ever; letters, digits, '-', '_' and '.'
  int threads = 1;
  // Polls that find nothing, for each task held: what is asked of a store may have its price.
  double polls_per_task_s = 2;
  double timeout_s = 600;                   // without progress of the job; then the worker gives up
  const std::atomic<bool>* stop = nullptr;  // leave, and give back what is held
  Json about = Json::object();              // host, process: for status
};

enum class Ending {
  kDone,         // the job is, and its result is at the store
  kInterrupted,  // this worker was told to stop; the job goes on with others, or later
  kGone,         // the job was cancelled, or its result taken away
};

struct WorkerResult {
  Ending ending = Ending::kDone;
  std::int64_t rounds = 0;
  std::int64_t steps_done = 0;  // absorbed by this worker
  std::int64_t updates = 0;     // made by this worker
  std::int64_t speculated = 0;  // of them: for shards that another worker held
  std::int64_t wasted = 0;      // of `updates`: somebody else was first
  Json ended = Json::object();  // result.json, when done
};

// Takes part in `job`. `observe` is told of every round that this worker absorbs, on the calling
// thread.
// THROWS what the store throws; JobFailed when the computation cannot go on, for anybody:
// result.json says so, too; Error(kFailed) that names what was missing and who held it, after the
// time-out. The job is not harmed by any of them but JobFailed: others, or the next worker, go on.
WorkerResult work(storage::Store& store, const storage::Meter& meter, const JobRecord& job,
                  const MakeLearner& make, const WorkerOptions& options,
                  const std::function<void(const job::RoundEvent&)>& observe = {});

}  // namespace meanwhile::runtime
