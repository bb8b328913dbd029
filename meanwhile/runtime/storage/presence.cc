#include "meanwhile/runtime/storage/presence.h"

#include <utility>
#include <vector>

namespace meanwhile::runtime {

namespace {

constexpr int kTriesToFind = 8;

}  // namespace

Presence PresenceCheck::look(double now_s) {
  if (blobs_.get(job_.names().cancelled())) {
    tries_ = 0;
    return Presence::kCancelled;
  }
  return look_at_record(now_s);
}

Presence PresenceCheck::look_at_record(double now_s) {
  const auto found = get_json(blobs_, Names::job());
  if (found) {
    tries_ = 0;
    return base::text_or(*found, "id", "") == job_.id ? Presence::kHere : Presence::kGone;
  }
  if (tries_ == 0) pace_ = {};
  if (++tries_ <= kTriesToFind) {
    due_s_ = now_s + pace_.next();
    return Presence::kUnclear;
  }
  tries_ = 0;
  return blobs_.get(Names::job()) ? Presence::kHere : Presence::kGone;
}

void remove_orphans(storage::Store& store, const JobRecord& job) {
  storage::BlobStore& blobs = *store.blobs;
  std::vector<std::string> orphans;
  for (storage::BlobInfo& blob : blobs.list(job.names().all())) {
    orphans.push_back(std::move(blob.name));
  }
  if (!orphans.empty()) blobs.remove(orphans);
  // The queue of another job stays.
  if (!blobs.get(Names::job())) store.queue->destroy();
}

}  // namespace meanwhile::runtime
