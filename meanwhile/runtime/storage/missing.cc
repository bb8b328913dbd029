#include "meanwhile/runtime/storage/missing.h"

#include <set>
#include <utility>

#include "meanwhile/runtime/storage/checked.h"

namespace meanwhile::runtime {

std::vector<std::string> LiveRecord::tasks() const {
  return base::texts_in(base::member_or_null(said, "tasks")).value_or(std::vector<std::string>());
}

std::vector<LiveRecord> live_records(storage::BlobStore& blobs, const JobRecord& job) {
  const Names names = job.names();
  std::vector<LiveRecord> records;
  for (const storage::BlobInfo& blob : blobs.list(names.live())) {
    const auto worker = names.worker_of(blob.name);
    if (!worker || blob.bytes > std::int64_t{kMostLiveBytes}) continue;
    if (auto said = get_json(blobs, blob.name, kMostLiveBytes)) {
      records.push_back({*worker, std::move(*said), blob.age_s});
    }
  }
  return records;
}

namespace {

std::set<std::string> blobs_of_round(storage::BlobStore& blobs, const Names& names,
                                     std::int64_t step) {
  std::set<std::string> there;
  for (storage::BlobInfo& blob : blobs.list(names.round(step))) there.insert(std::move(blob.name));
  return there;
}

}  // namespace

std::vector<int> missing_updates(storage::BlobStore& blobs, const JobRecord& job,
                                 std::int64_t step) {
  const Names names = job.names();
  const Layout layout = job.layout();
  const std::set<std::string> there = blobs_of_round(blobs, names, step);
  std::vector<int> missing;
  for (int shard = 0; shard < layout.shards; ++shard) {
    if (there.count(names.update(step, layout.group_of(shard), shard)) == 0) {
      missing.push_back(shard);
    }
  }
  return missing;
}

std::vector<int> missing_shards(storage::BlobStore& blobs, const JobRecord& job,
                                std::int64_t step) {
  const Names names = job.names();
  const Layout layout = job.layout();
  const std::set<std::string> there = blobs_of_round(blobs, names, step);
  std::vector<int> missing;
  if (there.count(names.total(step)) != 0) return missing;
  for (int shard = 0; shard < layout.shards; ++shard) {
    const int group = layout.group_of(shard);
    if (there.count(names.sum(step, group)) != 0) continue;
    if (there.count(names.update(step, group, shard)) == 0) missing.push_back(shard);
  }
  // With tables, updates wait for the deltas of all shards.
  std::vector<int> unworked;
  const auto first = there.lower_bound(names.deltas(step));
  const bool has_deltas = first != there.end() && first->starts_with(names.deltas(step));
  for (int shard = 0; has_deltas && shard < layout.shards; ++shard) {
    for (int bin = 0; bin < layout.bins(); ++bin) {
      if (there.count(names.delta(step, bin, shard)) != 0) continue;
      unworked.push_back(shard);
      break;
    }
  }
  return unworked.empty() ? missing : unworked;
}

std::string what_is_missing(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step) {
  const Names names = job.names();
  const Layout layout = job.layout();
  Task task{Task::Kind::kRoot, 0};
  std::string name = names.total(step);
  const std::vector<int> shards = missing_shards(blobs, job, step);
  if (!shards.empty()) {
    task = {Task::Kind::kShard, shards.front()};
    name = names.update(step, layout.group_of(task.index), task.index);
  } else if (layout.two_levels()) {
    for (int g = layout.groups; g-- > 0;) {
      if (get_sealed(blobs, names.sum(step, g))) continue;
      task = {Task::Kind::kGroup, g};
      name = names.sum(step, g);
    }
  }
  std::string owner = "no worker holds it";
  for (const LiveRecord& record : live_records(blobs, job)) {
    for (const std::string& held : record.tasks()) {
      if (held == task.text()) {
        owner = fmt::format("worker {} holds it; its last heartbeat was {:.0f} s ago",
                            record.worker, record.age_s);
      }
    }
  }
  const bool there = !blobs.list(name).empty();
  return fmt::format("{} ({}) {}; {}", name, task.text(),
                     there ? "exists, but cannot be read in full" : "is missing", owner);
}

std::string message_of(const JobRecord& job, const Task& task) {
  return Json{{"job", job.id}, {"task", task.text()}}.dump();
}

void push_missing(storage::Store& store, const JobRecord& job) {
  std::set<std::string> held;
  for (const LiveRecord& record : live_records(*store.blobs, job)) {
    if (record.age_s > job.lease_s) continue;
    for (std::string& task : record.tasks()) held.insert(std::move(task));
  }
  store.queue->create();
  for (const Task& task : tasks_of(job.layout())) {
    if (held.count(task.text()) == 0) store.queue->push(message_of(job, task));
  }
}

}  // namespace meanwhile::runtime
