// The updates and sums a step still lacks, and the worker whose task each is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// The record a worker writes at every heartbeat, and how old it is.
struct LiveRecord {
  std::string worker;
  Json said;  // an object
  double age_s = 0;

  // As it says itself: any text.
  std::vector<std::string> tasks() const;
};
std::vector<LiveRecord> live_records(storage::BlobStore& blobs, const JobRecord& job);

// Shards without an update in step `step` whose group has no sum yet.
std::vector<int> missing_shards(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step);
// Shards without an update in step `step`, also where there is a sum or a total: for a worker that
// waits, since these may be damaged.
std::vector<int> missing_updates(storage::BlobStore& blobs, const JobRecord& job,
                                 std::int64_t step);

// For an error message: the first blob that is missing, the worker that holds its task, and when
// that worker was last heard of.
std::string what_is_missing(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step);

// Pushes a message for every task that no living worker holds. A second message for a task does no
// harm.
void push_missing(storage::Store& store, const JobRecord& job);
std::string message_of(const JobRecord& job, const Task& task);

}  // namespace meanwhile::runtime
