#include "meanwhile/runtime/storage/slice_blobs.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/memory.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/job_failed.h"
#include "meanwhile/tables/wanted_rows.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;
using tables::Slice;
using tables::TableSet;

namespace {

// A slice that could not be read so often and for so long is lost. No worker can make it again
// once the step is over in which it was put.
constexpr int kTriesToReadSlice = 20;
constexpr double kReadSliceSeconds = 10;

// Nothing when the blob does not hold the slice of this digest.
std::shared_ptr<const Slice> slice_in(const data::SafetensorsFile& file, const std::string& name,
                                      const TableSet& set, int table, int slice,
                                      const tables::Digest& digest) {
  if (tables::digest_of(file.tensors()) != digest) return nullptr;
  try {
    const auto t = static_cast<std::size_t>(table);
    return std::make_shared<const Slice>(set.tables[t], set.slices[t].rows_of(slice), file, name);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

Json to_json(const TableTraffic& traffic) {
  return {{"rows", traffic.rows.load()},
          {"slices_fetched", traffic.slices_fetched.load()},
          {"bytes_fetched", traffic.bytes_fetched.load()},
          {"deltas_put", traffic.deltas_put.load()},
          {"bytes_pushed", traffic.bytes_pushed.load()},
          {"deltas_fetched", traffic.deltas_fetched.load()},
          {"bytes_added", traffic.bytes_added.load()},
          {"slices_put", traffic.slices_put.load()},
          {"bytes_put", traffic.bytes_put.load()}};
}

SliceBlobs::SliceBlobs(storage::BlobStore& blobs, const JobRecord& job,
                       std::int64_t memory_limit_bytes)
    : blobs_(blobs),
      names_(job.names()),
      memory_bytes_((memory_limit_bytes == 0 ? base::memory_bytes() / 4 * 3 : memory_limit_bytes) /
                    8) {}

void SliceBlobs::look(std::int64_t step, double now_s) {
  step_ = step;
  now_s_ = now_s;
  base::MutexLock lock(mutex_);
  missing_.clear();
}

void SliceBlobs::count_anew() {
  for (auto* count : {&traffic_.rows, &traffic_.slices_fetched, &traffic_.bytes_fetched,
                      &traffic_.deltas_put, &traffic_.bytes_pushed, &traffic_.deltas_fetched,
                      &traffic_.bytes_added, &traffic_.slices_put, &traffic_.bytes_put}) {
    *count = 0;
  }
}

std::string SliceBlobs::missing() const {
  base::MutexLock lock(mutex_);
  return missing_;
}

std::shared_ptr<const Slice> SliceBlobs::get(const TableSet& set, int table, int slice,
                                             const SliceVersion& version) {
  const std::size_t index = set.index(table, slice);
  {
    base::MutexLock lock(mutex_);
    const auto found = kept_.find(index);
    if (found != kept_.end() && found->second.step == version.step) return found->second.content;
  }
  const std::string name =
      names_.slice(set.tables[static_cast<std::size_t>(table)].name, slice, version.step);
  const auto blob = get_sealed(blobs_, name);
  auto content = blob ? slice_in(blob->file, name, set, table, slice, version.digest) : nullptr;
  if (content == nullptr) {
    miss(name, blob.has_value());
    return nullptr;
  }
  ++traffic_.slices_fetched;
  traffic_.bytes_fetched += std::ssize(blob->bytes);
  {
    base::MutexLock lock(mutex_);
    unread_.forget(name);
  }
  keep(index, version.step, content);
  return content;
}

SliceVersion SliceBlobs::put(const TableSet& set, int table, int slice, std::int64_t step,
                             std::shared_ptr<const Slice> content) {
  const tables::Table& of = set.tables[static_cast<std::size_t>(table)];
  const SliceVersion version{tables::digest_of(content->tensors()), step};
  const storage::Bytes blob = seal(content->tensors(), tables::slice_metadata(of, slice));
  blobs_.put(names_.slice(of.name, slice, step), blob);
  ++traffic_.slices_put;
  traffic_.bytes_put += std::ssize(blob);
  keep(set.index(table, slice), step, std::move(content));
  return version;
}

// Where there is room. An older version of the slice goes.
void SliceBlobs::keep(std::size_t index, std::int64_t step, std::shared_ptr<const Slice> content) {
  const auto bytes_of = [](const Slice& of) { return static_cast<std::int64_t>(of.bytes()); };
  base::MutexLock lock(mutex_);
  if (const auto found = kept_.find(index); found != kept_.end()) {
    kept_bytes_ -= bytes_of(*found->second.content);
    kept_.erase(found);
  }
  if (kept_bytes_ + bytes_of(*content) > memory_bytes_) return;
  kept_bytes_ += bytes_of(*content);
  kept_[index] = {step, std::move(content)};
}

// Whether the job has gone on without this worker: it will go on from a newer state.
bool SliceBlobs::is_behind() const {
  const auto states = blobs_.list(names_.states());
  return std::any_of(states.begin(), states.end(), [&](const storage::BlobInfo& blob) {
    return number_of(blob.name).value_or(0) > step_;
  });
}

void SliceBlobs::miss(const std::string& name, bool exists) {
  // The job may have ended meanwhile, and its tables with it.
  if (!exists && !blobs_.get(names_.ready())) {
    throw Error(ErrorKind::kInterrupted, "{}: {} is gone, as the job is", blobs_.name(), name);
  }
  bool lost;
  {
    base::MutexLock lock(mutex_);
    if (missing_.empty()) missing_ = name;
    lost = unread_.is_lost(name, now_s_, kTriesToReadSlice, kReadSliceSeconds);
  }
  if (!lost || is_behind()) return;
  throw JobFailed(Error(ErrorKind::kFailed,
                        "{}/{}: this slice of a table is missing, or damaged: cancel the job and "
                        "submit it again",
                        blobs_.name(), name));
}

std::unique_ptr<tables::HeldRows> SliceBlobs::rows(const TableSet& set,
                                                   const SliceVersions& versions,
                                                   std::span<const tables::Wants> wants,
                                                   base::ThreadPool& pool) {
  auto held = std::make_unique<tables::HeldRows>();
  const std::vector<tables::SliceRows> lists =
      fail_job("rows of tables", [&] { return tables::list_wanted(set, wants, nullptr, *held); });
  base::Mutex taking;
  std::atomic<bool> whole = true;
  pool.run(std::ssize(lists), [&](std::int64_t i, int) {
    const tables::SliceRows& list = lists[static_cast<std::size_t>(i)];
    const SliceVersion version = versions.at(set.index(list.table, list.slice));
    if (version.is_zero()) return;
    const auto content = get(set, list.table, list.slice, version);
    if (content == nullptr) {
      whole = false;
      return;
    }
    base::MutexLock lock(taking);
    tables::take_rows(set, list, content, false, *held);
  });
  if (!whole) return nullptr;
  for (const tables::HeldRows::OfTable& of : held->tables) traffic_.rows += std::ssize(of.rows);
  return held;
}

}  // namespace meanwhile::runtime
