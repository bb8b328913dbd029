// A worker: joins a job that is at a store, takes tasks, and stays until the job has ended. Any
// number of workers may take part, on any machines, at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "meanwhile/job/train.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

struct WorkerOptions {
  std::string id;  // differs from that of any other worker of the job, ever; letters, digits, -_.
  int threads = 1;
  // Polls that find nothing, for each task held: a store may charge for every request.
  double polls_per_task_s = 2;
  std::int64_t memory_limit_bytes = 0;      // parts of it are for rows of tables; 0: of the machine
  double timeout_s = 600;                   // without progress of the job; then the worker gives up
  const std::atomic<bool>* stop = nullptr;  // set: leave, and give the tasks back
  Json about = Json::object();              // host, process: for status
};

enum class Ending {
  kDone,         // the result of the job is at the store
  kInterrupted,  // this worker was told to stop; the job goes on with others, or later
  kGone,         // the job was cancelled, or its result taken away
};

struct WorkerResult {
  Ending ending = Ending::kDone;
  std::int64_t rounds = 0;
  std::int64_t steps_done = 0;  // absorbed by this worker
  std::int64_t updates = 0;     // made by this worker
  std::int64_t speculated = 0;  // of them: for shards that another worker held
  std::int64_t wasted = 0;      // of `updates`: another worker had put it first
  Json ended = Json::object();  // result.json, when done
};

// The result of a job that has ended, for a worker that comes after it; removes blobs that are left
// beside the result. Nothing when the job goes on. THROWS Error(kFailed) when the job has failed.
std::optional<WorkerResult> find_ended(storage::Store& store, const JobRecord& job);

// Takes part in `job`, on the calling thread and three more. `observe` is called for every round
// that this worker absorbs, on the calling thread. THROWS what the store throws; JobFailed when the
// computation cannot go on at any worker, which result.json then says, too; after the time-out,
// Error(kFailed) that names the missing blob and the worker that holds its task. Only JobFailed
// harms the job: other workers, or the next one, go on.
WorkerResult work(storage::Store& store, const storage::Meter& meter, const JobRecord& job,
                  const MakeLearner& make, const WorkerOptions& options,
                  const std::function<void(const job::RoundEvent&)>& observe = {});

}  // namespace meanwhile::runtime
