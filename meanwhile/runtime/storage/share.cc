#include "meanwhile/runtime/storage/share.h"

#include <algorithm>
#include <set>
#include <vector>

#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

namespace {

constexpr int kStepsTwice = 3;  // steps running: then another worker must hold the same shard

}  // namespace

int Share::fair() const {
  const int live = heartbeat_.live();
  return (tasks_ + live - 1) / live;
}

bool Share::may_take(double now_s, double waited_s, double worked_s) const {
  const int held = static_cast<int>(leases_.held().size());
  if (held >= fair() && waited_s < std::max(kGraceSeconds, worked_s / 2)) return false;
  return held < tasks_ && now_s - asked_s_ >= ask_every_s_;
}

bool Share::take(double now_s, double waited_s, double worked_s, int threads) {
  const int held = static_cast<int>(leases_.held().size());
  // A group's shards together, if a group is to be a fair share: the worker that holds them holds
  // the group, too, and adds its own updates.
  const Layout layout = job_.layout();
  const int together = layout.two_levels() ? std::min(layout.group_size, fair()) : 1;
  const Leases::Taken taken = leases_.take(std::max(threads, together));
  // The worker that held it has gone: the number of live workers is out of date.
  if (taken.redelivered) heartbeat_.beat(now_s);
  if (taken.tasks.empty()) {
    asked_s_ = now_s;
    heartbeat_.set_wants_tasks(held < tasks_ / heartbeat_.live() && waited_s > worked_s);
    return false;
  }
  heartbeat_.set_wants_tasks(false);
  if (held == 0) heartbeat_.beat(now_s);  // the others need not give anything back any more
  return true;
}

void Share::made(int shard, bool first) {
  if (first) {
    not_first_.erase(shard);
  } else {
    ++not_first_[shard];
  }
}

void Share::give_back(double now_s) {
  if (heartbeat_.another_wants_tasks()) give_back_above_fair(now_s);
  drop_tasks_held_twice();
}

void Share::give_back_above_fair(double now_s) {
  const std::set<Task> held = leases_.held();
  std::vector<Task> given;
  for (auto task = held.rbegin(); task != held.rend(); ++task) {
    if (static_cast<int>(held.size() - given.size()) <= fair()) break;
    if (task->kind == Task::Kind::kShard) given.push_back(*task);
  }
  leases_.give_back(given);
  if (!given.empty()) asked_s_ = now_s + kGraceSeconds;  // the others take first
}

// There may be two messages for a task. The worker with the lower name keeps its message.
void Share::drop_tasks_held_twice() {
  std::vector<Task> twice;
  for (const auto& [shard, steps] : not_first_) {
    if (steps >= kStepsTwice) twice.push_back({Task::Kind::kShard, shard});
  }
  if (twice.empty()) return;
  not_first_.clear();
  for (const LiveRecord& record : live_records(blobs_, job_)) {
    if (record.worker >= worker_ || record.age_s > job_.lease_s) continue;
    const std::vector<std::string> tasks = record.tasks();
    for (const Task& task : twice) {
      if (std::find(tasks.begin(), tasks.end(), task.text()) != tasks.end()) {
        leases_.drop(task);
      }
    }
  }
}

}  // namespace meanwhile::runtime
