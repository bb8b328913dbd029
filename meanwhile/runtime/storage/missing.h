// What a step still lacks, and whose task it is: for those who wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// What a worker says of itself, and how long ago it did.
struct LiveRecord {
  std::string worker;
  Json said;
  double age_s = 0;
};
std::vector<LiveRecord> live_records(storage::BlobStore& blobs, const JobRecord& job);

// Shards without an update in step `step`, of groups that are not added yet.
std::vector<int> missing_shards(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step);

// For a message: the first thing missing, whose it is, and when that one was last heard of.
std::string what_is_missing(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step);

// A message for every task that no living worker holds. Some may be there already: harmless.
void push_missing(storage::Store& store, const JobRecord& job);
std::string message_of(const JobRecord& job, const Task& task);

// Whether the job was taken away. Asks more than once: what is late, or was cut on its way, is not
// gone.
bool is_gone(storage::BlobStore& blobs, const JobRecord& job);

// Of a job that is gone: what workers may have put since. Nothing while it is there: whoever takes
// it away removes all.
void remove_orphans(storage::Store& store, const JobRecord& job);

}  // namespace meanwhile::runtime
