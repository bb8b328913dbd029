// A store that is open, with the meter of its requests. Every worker has one of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "meanwhile/learn/registry.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "meanwhile/storage/store.h"
#include "meanwhile/tables/reads_log.h"

namespace meanwhile::runtime {

struct OpenStore {
  // With a secret, every blob is signed (storage/signed_blobs.h).
  OpenStore(const storage::Location& location, const storage::Credentials& credentials,
            const std::string& secret = "");
  storage::Meter meter;
  storage::Store store;
};

// Where a job lives. Credentials are known to `open` alone.
struct StorePlace {
  std::string url;
  std::function<std::unique_ptr<OpenStore>()> open;
  // Polls that find nothing, for each task held: see WorkerOptions.
  double polls_per_task_s = 2;
  // After a job was removed: leaves nothing of it in a directory.
  std::function<void()> tidy;
};

// Makes learners of the job, in any of its states. The registry must outlive the result. THROWS
// Error(kInput) when the learner is not known.
MakeLearner learner_of(const learn::Registry& registry, const JobRecord& job,
                       std::shared_ptr<const tables::ReadsLog> replayed = nullptr);
// The record of reads that a job repeats; null: none. THROWS Error(kInput) when it is gone or
// damaged; what the store throws.
std::shared_ptr<const tables::ReadsLog> replayed_by(const JobRecord& job,
                                                    storage::BlobStore& blobs);

// HOST-PID-RANDOM, unlike any other.
std::string worker_id();
// Host, process and program, for a worker's record.
Json worker_about();

}  // namespace meanwhile::runtime
