// job.json: all that a worker must know to take part in a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "meanwhile/data/shard_buffer.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/runtime/storage/layout.h"
#include "meanwhile/runtime/storage/timing.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

using base::Json;

struct JobRecord {
  std::string id;  // a hash of all that the model depends on: the same job has the same id
  std::string version;
  std::string learner;
  Json parameters;
  std::uint64_t seed = 0;
  int staleness = 0;
  bool fresh = false;  // reads see what has arrived (stretch.h)
  // Hash of the reads that the job repeats, or goes on from if it is fresh; empty: none.
  std::string reads_sha256;
  data::Outline data;
  std::optional<data::Outline> eval;
  std::string state_sha256;                  // of the state before step 0
  std::int64_t rounds_done = 0;              // behind that state
  std::string memory_sha256;                 // of the memory before step 0; empty: it is zeros
  double lease_s = 30;                       // a worker that gave no sign for so long has gone
  std::int64_t memory_every = kMemoryEvery;  // steps between two saves of the shards' memory
  Json about = Json::object();  // for the user: files, command, when and where it was submitted

  int shards() const { return static_cast<int>(data.shard_rows.size()); }
  Layout layout() const { return layout_of(shards()); }
  Names names() const { return {id}; }
  // Whether workers may make updates of a step before the one before it is over.
  bool works_ahead() const { return staleness != 0 && !fresh; }
};

// The longest lease: that of Azure's queues.
inline constexpr double kLongestLeaseSeconds = 7 * 24 * 3600;
// Bytes of a record that a worker writes of itself; of others (job.json may hold names of columns).
inline constexpr std::size_t kMostLiveBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostRecordBytes = base::kMostJsonBytes;

// Settles `id` from all the rest but lease_s, memory_every and about: no bit depends on these.
void settle_id(JobRecord& record);

// THROWS Error(kInput) when a field is out of range.
void check(const JobRecord& record);

Json to_json(const JobRecord& record);
// THROWS Error(kInput), `name` first, for what is no record, for one of another version of the
// program, which might compute other bits, and for one whose id is not that of its contents or
// whose numbers are out of range: any process that may write to a store may write job.json.
JobRecord record_from_json(const Json& json, const std::string& name);
// The fields alone, each in its range; the id is what `json` says. THROWS Error(kInput).
JobRecord fields_from_json(const Json& json);

// The job at a store; nothing when there is none. THROWS as record_from_json and the store.
std::optional<JobRecord> find_job(storage::BlobStore& blobs);

// The record in a blob, an object. Nothing when there is none, or when the blob holds something
// else: it was cut on its way, or no worker wrote it. THROWS as BlobStore::get_at_most.
std::optional<Json> get_json(storage::BlobStore& blobs, const std::string& name,
                             std::size_t most_bytes = kMostRecordBytes);
storage::Bytes json_bytes(const Json& json);

}  // namespace meanwhile::runtime
