#include "meanwhile/runtime/storage/leases.h"

#include <algorithm>
#include <utility>

namespace meanwhile::runtime {

namespace {

constexpr int kMostMessages = 32;  // of one lease
constexpr int kMostLeases = 1000;  // of one call

// Nothing when the message asks for no task of this job.
std::optional<Task> task_in(const storage::Message& message, const JobRecord& job) {
  const auto body = base::try_parse_object(message.body, storage::kLongestMessage);
  if (!body || base::text_or(*body, "job", "") != job.id) return std::nullopt;
  return parse_task(base::text_or(*body, "task", ""), job.layout());
}

}  // namespace

Leases::Taken Leases::take(int shards) {
  Taken taken;
  int found = 0;
  // A group's message is behind those of its shards.
  const int more = job_.layout().two_levels() ? 1 : 0;
  // Others may push what is no task as fast as it is removed here.
  for (int asked = 0; found < shards && asked < kMostLeases; ++asked) {
    auto messages = queue_.lease(std::min(kMostMessages, shards - found + more), job_.lease_s);
    if (messages.empty()) break;
    for (storage::Message& message : messages) {
      taken.redelivered |= message.deliveries > 1;
      const std::optional<Task> task = accept(std::move(message));
      if (!task) continue;
      taken.tasks.push_back(*task);
      found += task->kind == Task::Kind::kShard ? 1 : 0;
    }
  }
  return taken;
}

std::optional<Task> Leases::accept(storage::Message message) {
  const std::optional<Task> task = task_in(message, job_);
  {
    base::MutexLock lock(mutex_);
    const auto held = task ? held_.find(*task) : held_.end();
    if (held != held_.end() && held->second.id == message.id) {
      held->second = std::move(message);  // the lease had run out without this worker knowing
      return std::nullopt;
    }
    if (task && held == held_.end()) {
      held_.emplace(*task, std::move(message));
      return task;
    }
  }
  queue_.remove(message);
  return std::nullopt;
}

std::set<Task> Leases::held() const {
  base::MutexLock lock(mutex_);
  std::set<Task> tasks;
  for (const auto& [task, message] : held_) tasks.insert(task);
  return tasks;
}

std::optional<storage::Message> Leases::release(const Task& task) {
  base::MutexLock lock(mutex_);
  const auto found = held_.find(task);
  if (found == held_.end()) return std::nullopt;
  storage::Message message = std::move(found->second);
  held_.erase(found);
  return message;
}

void Leases::give_back(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    base::MutexLock one_at_a_time(renew_mutex_);
    if (auto message = release(task)) queue_.renew(*message, 0);
  }
}

void Leases::give_back_all() {
  const std::set<Task> all = held();
  give_back({all.begin(), all.end()});
}

void Leases::drop(const Task& task) {
  base::MutexLock one_at_a_time(renew_mutex_);
  if (const auto message = release(task)) queue_.remove(*message);
}

void Leases::renew_all() {
  for (const Task& task : held()) {
    base::MutexLock one_at_a_time(renew_mutex_);
    storage::Message message;
    {
      base::MutexLock lock(mutex_);
      const auto found = held_.find(task);
      if (found == held_.end()) continue;  // given back meanwhile
      message = found->second;
    }
    const std::string before = message.receipt;
    const bool kept = queue_.renew(message, job_.lease_s);
    base::MutexLock lock(mutex_);
    const auto found = held_.find(task);
    // Taken anew meanwhile, because the lease had been lost: then that one counts.
    if (found == held_.end() || found->second.receipt != before) continue;
    if (kept) {
      found->second = message;
    } else {
      held_.erase(found);
    }
  }
}

}  // namespace meanwhile::runtime
