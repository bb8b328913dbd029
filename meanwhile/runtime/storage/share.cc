#include "meanwhile/runtime/storage/share.h"

#include <algorithm>
#include <set>
#include <vector>

#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

namespace {

constexpr int kStepsTwice = 3;  // running: then another worker must hold the same shard

}  // namespace

int Share::fair() const { return (tasks_ + keeper_.live() - 1) / keeper_.live(); }

bool Share::take_more(double waited_s, double worked_s, int threads) {
  const int held = static_cast<int>(keeper_.held().size());
  if (held >= fair() && waited_s < std::max(kGraceSeconds, worked_s / 2)) return false;
  if (held == tasks_ || base::now_s() - asked_s_ < ask_every_s_) return false;
  // A group's shards together, if it is to be a fair share: whoever holds them holds the group, and
  // adds what it made itself.
  const Layout layout = job_.layout();
  const int together = layout.two_levels() ? std::min(layout.group_size, fair()) : 1;
  if (keeper_.take(std::max(threads, together)).empty()) {
    asked_s_ = base::now_s();
    keeper_.set_hungry(held < tasks_ / keeper_.live() && waited_s > worked_s);
    return false;
  }
  keeper_.set_hungry(false);
  if (held == 0) keeper_.beat();  // it is hungry no longer
  return true;
}

void Share::made(int shard, bool first) {
  if (first) {
    not_first_.erase(shard);
  } else {
    ++not_first_[shard];
  }
}

void Share::give_back() {
  if (keeper_.somebody_starves()) {
    const std::set<Task> held = keeper_.held();
    std::vector<Task> given;
    for (auto task = held.rbegin(); task != held.rend(); ++task) {
      if (static_cast<int>(held.size() - given.size()) <= fair()) break;
      if (task->kind == Task::Kind::kShard) given.push_back(*task);
    }
    keeper_.give_back(given);
    if (!given.empty()) asked_s_ = base::now_s() + kGraceSeconds;  // others first
  }
  // There may be two messages for a task. Whoever has the lower name keeps his.
  std::vector<Task> twice;
  for (const auto& [shard, steps] : not_first_) {
    if (steps >= kStepsTwice) twice.push_back({Task::Kind::kShard, shard});
  }
  if (twice.empty()) return;
  not_first_.clear();
  for (const LiveRecord& record : live_records(blobs_, job_)) {
    if (record.worker >= worker_ || record.age_s > job_.lease_s) continue;
    const Json tasks = record.said.value("tasks", Json::array());
    for (const Task& task : twice) {
      if (std::find(tasks.begin(), tasks.end(), Json(task.text())) != tasks.end()) {
        keeper_.drop(task);
      }
    }
  }
}

}  // namespace meanwhile::runtime
