// A step of a learner with tables at a worker. A shard is worked on as ever; what it adds to tables
// is cut by bins of slices (Layout::bins), and put before its update:
//
//   1  put deltas/BIN/SHARD for each bin, after work on the shard
//   2  for a shard that owns a bin: when the deltas of all shards are there, add them to the slices
//      of the bin, and put the next version of those that changed
//   3  put the update of the shard, with the new versions (slice_versions.h)
//
// So a total says that all slices of the next step are at the store, and what they hold: no worker
// waits for a slice, and none is read whose digest is another. Shards wait for each other at 2
// only, after 1; a worker that dies leaves 1 to 3 to the next one, which puts the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/stored_tables.h"
#include "meanwhile/runtime/storage/unread.h"

namespace meanwhile::runtime {

// The plan: blobs that all workers put and read for the tables of a step, where every shard wants
// rows of all `slices` and adds to all of them, and workers keep what they put and read. Where
// memory is less, slices are read again for each batch of shards (StoredTables::fetch).
struct TableCost {
  double deltas_put = 0, deltas_read = 0, slices_put = 0, slices_read = 0;
};
TableCost table_cost(const Layout& layout, int workers, int slices);

// Thread safety: one thread at a time; put() of different shards at the same time.
class TableStep {
 public:
  // Borrows blobs, pool and the slices of `learner`, which is in the state before the step.
  TableStep(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step,
            const StoredTables& learner, base::ThreadPool& pool);

  // Forgets the updates of all other shards.
  void keep_only(const std::set<int>& shards);
  // Looks which deltas are there. Returns how many were not known before.
  std::int64_t look();
  // Those of `shards` to be worked on: all that were not, or whose deltas were lost.
  std::set<int> open(const std::set<int>& shards) const;
  // 1: the shard was worked on. Keeps `update`. THROWS what the store throws.
  void put(int shard, exchange::Update update, const std::vector<tables::SealedDelta>& delta)
      MW_EXCLUDES(mutex_);
  // 2 and 3: the update of a shard that was worked on; nothing while deltas of its bin, or slices,
  // are not to be had. Deltas that are damaged are removed after some tries. THROWS JobFailed when
  // a sum is too large; what the store throws.
  std::optional<exchange::Update> finish(int shard, double now_s);

  // Shards whose deltas others wait for.
  std::vector<int> missing() const;
  // A delta that is there and cannot be read; empty when there is none.
  const std::string& unreadable() const { return unreadable_; }

 private:
  // Changes of a shard to the slices of a bin, as they were put.
  struct Put {
    Sealed blob;
    std::map<std::pair<int, int>, std::span<const std::byte>> rows;  // by table and slice
  };
  bool is_there(int shard) const;
  std::optional<std::vector<Put>> puts_of(int bin, double now_s);
  std::optional<Put> read(int bin, int shard);
  bool add(const std::vector<Put>& puts, exchange::Update& update);

  storage::BlobStore& blobs_;
  const Names names_;
  const Layout layout_;
  const std::int64_t step_;
  base::ThreadPool& pool_;
  SliceBlobs& slices_;
  const tables::TableSet set_;
  const SliceVersions versions_;  // before the step
  const int block_;               // of versions in updates

  base::Mutex mutex_;                        // guards both while shards are worked on
  std::set<std::pair<int, int>> there_;      // deltas, by bin and shard
  std::map<int, exchange::Update> waiting_;  // by shard
  Unread unread_;
  std::string unreadable_;
};

}  // namespace meanwhile::runtime
