// What is at a store of a job: how far it is, what it cost, and in the end its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// What was used, as the records of workers say it.
Json to_json(const storage::Usage& usage);

// What storage and machines cost. The defaults are those of "K-means on Azure".
struct Prices {
  double per_hour = 0.10;  // of a worker
  double per_million_requests = 1.00;
};

// Seconds and requests by worker, those that are gone included; and their price.
Json bill(storage::BlobStore& blobs, const JobRecord& job, const Prices& prices);

struct Status {
  // "uploading", "waiting" (nobody works), "running", "done", "failed", "cancelled"
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
  Json ended;            // result.json
  storage::Bytes model;  // a model file
  std::string metrics;   // lines
};
// Nothing when the job has not ended. THROWS Error(kFailed) with its message when it has failed.
std::optional<Result> result_of(storage::BlobStore& blobs, const JobRecord& job);

// result.json; nothing when there is none yet. THROWS Error(kFailed) when the job has failed.
std::optional<Json> ended_job(storage::BlobStore& blobs, const JobRecord& job);
// Of a job that has ended: removes what is left beside its result, if whoever wrote that did not.
void tidy_up(storage::Store& store, const JobRecord& job);

// Ends the job for everybody and removes all of it; waits a while for its workers to leave.
// Returns how many had not when it gave up waiting.
int cancel(storage::Store& store, const JobRecord& job);

}  // namespace meanwhile::runtime
