// The tasks a worker holds: messages it has leased from the queue, and must renew.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/queue.h"

namespace meanwhile::runtime {

// Thread safety: any thread. THROWS what the queue throws.
class Leases {
 public:
  // Everything is borrowed.
  Leases(storage::Queue& queue, const JobRecord& job) : queue_(queue), job_(job) {}

  struct Taken {
    std::vector<Task> tasks;  // new ones
    bool redelivered =
        false;  // another worker had held one of them: it has gone, or lost its lease
  };
  // Leases messages until `shards` of the new tasks are shards or the queue is empty. A second
  // message for a task held is removed, as is a message of another job.
  Taken take(int shards) MW_EXCLUDES(mutex_);
  std::set<Task> held() const MW_EXCLUDES(mutex_);
  // Other workers can take the tasks at once.
  void give_back(const std::vector<Task>& tasks) MW_EXCLUDES(renew_mutex_, mutex_);
  void give_back_all() MW_EXCLUDES(renew_mutex_, mutex_);
  // Removes the message of a task for which there is another message.
  void drop(const Task& task) MW_EXCLUDES(renew_mutex_, mutex_);
  // Forgets tasks whose lease was lost.
  void renew_all() MW_EXCLUDES(renew_mutex_, mutex_);

 private:
  // Adds the message to those held, or removes it from the queue. Returns the task if it is new.
  std::optional<Task> accept(storage::Message message) MW_EXCLUDES(mutex_);
  // Takes the task from those held; nothing when it is not held.
  std::optional<storage::Message> release(const Task& task) MW_EXCLUDES(mutex_);

  storage::Queue& queue_;
  const JobRecord& job_;
  // One renewal at a time: each changes the receipt that the next one needs.
  base::Mutex renew_mutex_ MW_ACQUIRED_BEFORE(mutex_);
  mutable base::Mutex mutex_;
  std::map<Task, storage::Message> held_ MW_GUARDED_BY(mutex_);
};

}  // namespace meanwhile::runtime
