// A job as its store shows it: how far it is, what it cost, and in the end its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// Usage as the records of workers hold it.
Json to_json(const storage::Usage& usage);

// Prices of storage and machines. The defaults are those of "K-means on Azure".
struct Prices {
  double per_hour = 0.10;  // of a worker
  double per_million_requests = 1.00;
};

// Seconds and requests by worker, those that are gone included; and their price.
Json bill(storage::BlobStore& blobs, const JobRecord& job, const Prices& prices);

struct Status {
  // "uploading", "waiting" (no worker runs), "running", "done", "failed", "cancelled"
  std::string state;
  std::int64_t rounds = 0, rounds_left = 0;  // as workers say
  std::int64_t step = 0;
  double round_s = 0;               // a round takes about so long; 0: not known
  std::vector<LiveRecord> workers;  // the dead, not yet forgotten, included
  std::vector<int> missing;         // shards without an update in the present step
  int messages = 0;                 // in the queue, leased ones included
  Json result;                      // when done or failed
};
Status status_of(storage::Store& store, const JobRecord& job);

struct Result {
  Json ended;                  // result.json
  storage::Bytes model;        // a model file
  std::string metrics;         // lines: all that could be read
  storage::Bytes reads;        // the record of fresh reads; empty: there is none
  bool metrics_whole = false;  // the lines are those that were put, none missing or changed
};
inline constexpr const char* kDamagedMetrics =
    "the metrics at the store are damaged: lines may be missing or wrong; the model is whole";
// Nothing when the job has not ended. THROWS Error(kFailed) with its message when it has failed.
std::optional<Result> result_of(storage::BlobStore& blobs, const JobRecord& job,
                                base::Clock& clock);

// A blob of the result. THROWS Error(kFailed) when it cannot be read whole after some tries.
Sealed result_blob(storage::BlobStore& blobs, const std::string& name, base::Clock& clock);

// result.json; nothing when there is none yet. THROWS Error(kFailed) when the job has failed.
std::optional<Json> ended_job(storage::BlobStore& blobs, const JobRecord& job);
// Whether the job has ended and has not failed: nothing but its result must stay. Nothing when the
// result is there, but came cut.
std::optional<bool> is_done(storage::BlobStore& blobs, const JobRecord& job);
// Removes all blobs beside the result, and the queue. REQUIRES: is_done().
void tidy_up(storage::Store& store, const JobRecord& job);

// Ends the job for all workers and removes all of it. Waits for its workers to leave, a lease or
// ten minutes at most. Returns how many had not left then.
int cancel(storage::Store& store, const JobRecord& job, base::Clock& clock);

}  // namespace meanwhile::runtime
