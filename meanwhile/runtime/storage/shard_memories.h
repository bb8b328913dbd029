// The memory of shards at a store (learn/shard_memory.h). A worker keeps the memory of the shards
// it holds, each with the step it is of. Every job.memory_every steps the memory of a shard is
// saved under a name that says step and shard, together with the state of that step. A worker that
// takes a shard over loads the last save and replays the totals since: it runs the learner from the
// saved state, works on that shard alone, and discards the updates.
//
// Memory before a step is a function of the job and the step, as a state is: it may be computed and
// saved twice, by any worker, to the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/part.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// A learner and the rows it borrows.
struct AttachedLearner {
  data::Part part, eval;
  std::unique_ptr<learn::RoundLearner> learner;
};

// Thread safety: one thread at a time; find() and worked() of different shards at the same time.
class ShardMemories {
 public:
  // Makes a learner in this state, attached to the rows of the shards.
  using Attach = std::function<std::unique_ptr<AttachedLearner>(const data::SafetensorsFile& state,
                                                                const std::set<int>& shards)>;
  // Everything is borrowed.
  ShardMemories(storage::BlobStore& blobs, const JobRecord& job, base::ThreadPool& pool,
                Attach attach);

  // The memory of `shard` before step `step`; none when another step's, or none, is here.
  learn::ShardMemory* find(int shard, std::int64_t step);
  // The shard was worked on: its memory is now that before the next step.
  void worked(int shard);
  // The shards whose memory before step `step` is here.
  std::set<int> at(std::int64_t step) const;
  // Forgets the memory of all other shards.
  void keep_only(const std::set<int>& shards);

  // Brings the memory of `shards` to step `step`, with tensors as `learner` declares them. Returns
  // the name of a blob that is not there yet; empty when the memory of all is here. REQUIRES: the
  // rows of the shards are loaded, and `learner` is attached to them. THROWS JobFailed; what the
  // store throws.
  std::string recover(const std::set<int>& shards, std::int64_t step,
                      const learn::RoundLearner& learner);

  // Names and contents of the blobs that save the memory before step `step` of the shards here.
  std::vector<std::pair<std::string, storage::Bytes>> blobs(std::int64_t step) const;

 private:
  struct Memory {
    std::int64_t step = 0;  // this is the memory before it
    learn::ShardMemory values;
  };
  std::map<int, std::vector<std::int64_t>> saves(const std::set<int>& shards, std::int64_t step);
  std::string load(int shard, std::int64_t from, const learn::RoundLearner& learner);
  std::string replay(const std::set<int>& shards, std::int64_t from, std::int64_t to,
                     const data::SafetensorsFile& state);

  storage::BlobStore& blobs_;
  const JobRecord& job_;
  const Names names_;
  base::ThreadPool& pool_;
  const Attach attach_;
  std::map<int, Memory> memories_;  // by shard
};

// The memory of a shard as a blob.
storage::Bytes seal_memory(const learn::ShardMemory& memory);

// The newest step whose state and whose memory of all shards are at the store; 0 when there is none
// but the beginning of the job. Rounds, states and memory before it are needed no more.
std::int64_t newest_complete_save(storage::BlobStore& blobs, const JobRecord& job);

}  // namespace meanwhile::runtime
