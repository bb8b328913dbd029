// Slices of tables in blobs: each version of a slice has a name that says the step before which it
// was put (Names::slice). A worker reads whole slices, one for each thread at a time, and keeps
// those that it read or put last, as far as memory allows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/slice_versions.h"
#include "meanwhile/runtime/storage/unread.h"
#include "meanwhile/storage/blob_store.h"
#include "meanwhile/tables/rows.h"

namespace meanwhile::runtime {

// Rows and bytes that a worker moved in a step.
struct TableTraffic {
  std::atomic<std::int64_t> rows = 0;            // read by work
  std::atomic<std::int64_t> slices_fetched = 0;  // for that, and to be added to
  std::atomic<std::int64_t> bytes_fetched = 0;
  std::atomic<std::int64_t> deltas_put = 0, bytes_pushed = 0;     // what shards add
  std::atomic<std::int64_t> deltas_fetched = 0, bytes_added = 0;  // of a bin, to be added
  std::atomic<std::int64_t> slices_put = 0, bytes_put = 0;        // the sums
};
Json to_json(const TableTraffic& traffic);

// Thread safety: get() and put() of different slices at the same time; nothing else is.
class SliceBlobs {
 public:
  // Borrows all. Slices that are kept, and rows that are held, take an eighth of the limit each.
  // 0: three quarters of the machine's memory.
  SliceBlobs(storage::BlobStore& blobs, const JobRecord& job, std::int64_t memory_limit_bytes);

  // The step that the worker is at, and the time. Forgets what was missing.
  void look(std::int64_t step, double now_s) MW_EXCLUDES(mutex_);
  // Counts traffic from here on.
  void count_anew();

  // The slice of this version, which is not zero; null when it is not to be had yet. THROWS
  // JobFailed when it is missing or damaged for good; Error(kInterrupted) when the job is gone;
  // what the store throws.
  std::shared_ptr<const tables::Slice> get(const tables::TableSet& set, int table, int slice,
                                           const SliceVersion& version);
  // Puts what the slice holds before step `step`. Returns its version.
  SliceVersion put(const tables::TableSet& set, int table, int slice, std::int64_t step,
                   std::shared_ptr<const tables::Slice> content);

  // The rows of these lists, which are settled; null when a slice is not to be had yet.
  std::unique_ptr<tables::HeldRows> rows(const tables::TableSet& set, const SliceVersions& versions,
                                         std::span<const tables::Wants> wants,
                                         base::ThreadPool& pool);

  // The first slice that was not to be had since the last look(); empty: none.
  std::string missing() const MW_EXCLUDES(mutex_);
  // The room for rows that are held.
  std::int64_t memory_bytes() const { return memory_bytes_; }
  TableTraffic& traffic() { return traffic_; }
  const TableTraffic& traffic() const { return traffic_; }

 private:
  struct Kept {
    std::int64_t step = 0;
    std::shared_ptr<const tables::Slice> content;
  };
  void keep(std::size_t index, std::int64_t step, std::shared_ptr<const tables::Slice> content)
      MW_EXCLUDES(mutex_);
  void miss(const std::string& name, bool exists) MW_EXCLUDES(mutex_);
  bool is_behind() const;

  storage::BlobStore& blobs_;
  const Names names_;
  const std::int64_t memory_bytes_;
  std::int64_t step_ = 0;
  double now_s_ = 0;
  TableTraffic traffic_;
  mutable base::Mutex mutex_;
  std::map<std::size_t, Kept> kept_ MW_GUARDED_BY(mutex_);  // by TableSet::index()
  std::int64_t kept_bytes_ MW_GUARDED_BY(mutex_) = 0;
  Unread unread_ MW_GUARDED_BY(mutex_);
  std::string missing_ MW_GUARDED_BY(mutex_);
};

}  // namespace meanwhile::runtime
