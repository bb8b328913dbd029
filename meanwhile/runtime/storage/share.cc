#include "meanwhile/runtime/storage/share.h"

#include <algorithm>
#include <set>
#include <vector>

#include "meanwhile/runtime/storage/balance.h"
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

namespace {

constexpr int kStepsTwice = 3;  // steps running: then another worker must hold the same shard
// A worker is short of tasks when it waited for so many times as long as a shard takes it. Workers
// that hold one shard more or less than each other are not.
constexpr double kShort = 1.5;
// A worker keeps the shards that it finishes within so many times the balanced time.
constexpr double kSlack = 1.1;
// Between two looks at what other workers say. A pause is twice as long as the one before when
// there was nothing to give.
constexpr double kFirstPauseSeconds = 1, kLongestPauseSeconds = 60;

}  // namespace

int Share::fair() const {
  const int live = heartbeat_.live();
  return (tasks_ + live - 1) / live;
}

int Share::held_shards() const {
  const std::set<Task> held = leases_.held();
  return static_cast<int>(std::count_if(
      held.begin(), held.end(), [](const Task& task) { return task.kind == Task::Kind::kShard; }));
}

void Share::step_over(double now_s, int updates, double work_s, double wait_s) {
  if (heartbeat_.live() != balanced_live_) {
    balanced_live_ = heartbeat_.live();
    most_ = kAnyNumber;
    balance_due_s_ = now_s;
    balance_pause_s_ = kFirstPauseSeconds;
  }
  wait_s_ = wait_s;
  if (updates == 0 || work_s <= 0) return;
  // Half of it is what the steps before said: one slow step is no slow worker.
  const double now_shard_s = work_s / updates;
  shard_s_ = shard_s_ > 0 ? (shard_s_ + now_shard_s) / 2 : now_shard_s;
  const bool was_short = room_ > 0;
  room_ = wait_s > kShort * shard_s_
              ? static_cast<int>(std::min<double>(wait_s / shard_s_, job_.shards()))
              : 0;
  heartbeat_.set_wants_tasks(room_ > 0);
  if (room_ == 0 || was_short || now_s < say_due_s_) return;
  say_due_s_ = now_s + kBeatSeconds;
  heartbeat_.beat(now_s);  // others need not wait for the next
}

bool Share::may_take(double now_s, double waited_s, double worked_s) const {
  const int held = static_cast<int>(leases_.held().size());
  const double asked_for_s = now_s - asked_s_;
  if (held == tasks_ || asked_for_s < ask_every_s_) return false;
  if (held < fair() && held_shards() < most_) return true;
  // Rounds may be short, and all of them waits: a queue that is empty is not asked in each.
  if (room_ > 0 && asked_for_s >= kGraceSeconds) return true;
  return waited_s >= std::max(kGraceSeconds, worked_s / 2);
}

bool Share::take(double now_s, double waited_s, double worked_s, int threads) {
  const int held = static_cast<int>(leases_.held().size());
  // A group's shards together, if a group is to be a fair share: the worker that holds them holds
  // the group, too, and adds its own updates.
  const Layout layout = job_.layout();
  const int live = heartbeat_.live(), fair_shards = (layout.shards + live - 1) / live;
  const int together = layout.two_levels() ? std::min(layout.group_size, fair_shards) : 1;
  // Other workers that are short of tasks take the next ones.
  const bool one_by_one = held >= fair() && waited_s < std::max(kGraceSeconds, worked_s / 2);
  const Leases::Taken taken = leases_.take(one_by_one ? 1 : std::max(threads, together));
  // The worker that held it has gone: the number of live workers is out of date.
  if (taken.redelivered) heartbeat_.beat(now_s);
  if (taken.tasks.empty()) {
    asked_s_ = now_s;
    heartbeat_.set_wants_tasks(room_ > 0 || (held < tasks_ / live && waited_s > worked_s));
    return false;
  }
  room_ = std::max(0, room_ - static_cast<int>(taken.tasks.size()));
  heartbeat_.set_wants_tasks(room_ > 0);
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
  if (heartbeat_.another_wants_tasks()) {
    if (shard_s_ <= 0) {
      give_back_above(now_s, fair(), 0);
    } else if (should_balance(now_s)) {
      const int before = held_shards();
      most_ = most_shards();
      give_back_above(now_s, 0, most_);
      balance_pause_s_ = before > most_ ? kFirstPauseSeconds
                                        : std::min(2 * balance_pause_s_, kLongestPauseSeconds);
      balance_due_s_ = now_s + balance_pause_s_;
    }
  }
  drop_tasks_held_twice();
}

// A worker that has waited itself is not the one that others wait for.
bool Share::should_balance(double now_s) const {
  if (now_s < balance_due_s_) return false;
  return wait_s_ < shard_s_ || static_cast<int>(leases_.held().size()) > fair();
}

// The shards that this worker may hold without making the others wait, by what all workers say. A
// worker that has not said anything counts as the one in the middle. At least one shard: without
// any, a worker would not know when it is quick again.
int Share::most_shards() {
  std::vector<double> shard_s = {shard_s_};
  int unknown = 0;
  for (const LiveRecord& record : live_records(blobs_, job_)) {
    if (record.worker == worker_ || record.age_s > job_.lease_s) continue;
    const double theirs = base::number_or(record.said, "shard_s", 0);
    if (theirs > 0 && theirs < kNever) {
      shard_s.push_back(theirs);
    } else {
      ++unknown;
    }
  }
  std::vector<double> sorted = shard_s;
  std::sort(sorted.begin(), sorted.end());
  shard_s.insert(shard_s.end(), static_cast<std::size_t>(unknown), sorted[sorted.size() / 2]);
  const double best_s = balanced_seconds(job_.shards(), shard_s);
  return std::max(1, static_cast<int>(
                         std::min(kSlack * best_s / shard_s_, static_cast<double>(job_.shards()))));
}

// Gives shards back until no more than so many tasks, or shards, are held.
void Share::give_back_above(double now_s, int tasks, int shards) {
  const std::set<Task> held = leases_.held();
  int left = static_cast<int>(held.size()), left_shards = held_shards();
  std::vector<Task> given;
  for (auto task = held.rbegin(); task != held.rend(); ++task) {
    if (left <= tasks || left_shards <= shards) break;
    if (task->kind != Task::Kind::kShard) continue;
    given.push_back(*task);
    --left, --left_shards;
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
