// Which tasks a worker takes: a fair share first, more when no other worker takes them, and fewer
// when another worker is short of tasks. A worker that has done a step knows how long a shard takes
// it, and its heartbeat says so: a slow worker gives back what others would finish sooner.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

#include "meanwhile/runtime/storage/heartbeat.h"
#include "meanwhile/runtime/storage/leases.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// Thread safety: one thread at a time.
class Share {
 public:
  static constexpr int kAnyNumber = 1 << 30;

  // Everything is borrowed. `asks_per_s`: how often an empty queue may be asked.
  Share(storage::BlobStore& blobs, Leases& leases, Heartbeat& heartbeat, const JobRecord& job,
        std::string worker, double asks_per_s)
      : blobs_(blobs),
        leases_(leases),
        heartbeat_(heartbeat),
        job_(job),
        worker_(std::move(worker)),
        ask_every_s_(std::clamp(1 / asks_per_s, 0.05, 0.5)) {}

  // A step is over, in which this worker made `updates` in `work_s`, and waited for `wait_s`.
  void step_over(double now_s, int updates, double work_s, double wait_s);
  // Seconds that a shard takes this worker; 0: not known. Thread safety: any thread.
  double shard_s() const { return shard_s_; }
  // For a worker that has waited for `waited_s` after working for `worked_s` in this step: whether
  // it may ask the queue for more tasks now.
  bool may_take(double now_s, double waited_s, double worked_s) const;
  // Takes tasks for a few more shards, at least `threads`, if there are any to be had. Returns
  // whether there were.
  bool take(double now_s, double waited_s, double worked_s, int threads);
  // Between two steps: gives back shards that other workers would finish sooner, if one of them is
  // short of tasks, and lets go of tasks that another worker holds, too.
  void give_back(double now_s);
  // The update of a shard that is held was put. Not `first`: another worker had put it already.
  void made(int shard, bool first);

 private:
  int fair() const;
  int held_shards() const;
  bool should_balance(double now_s) const;
  int most_shards();
  void give_back_above(double now_s, int tasks, int shards);
  void drop_tasks_held_twice();

  storage::BlobStore& blobs_;
  Leases& leases_;
  Heartbeat& heartbeat_;
  const JobRecord& job_;
  const std::string worker_;
  const int tasks_ = static_cast<int>(tasks_of(job_.layout()).size());
  const double ask_every_s_;
  double asked_s_ = -1e9;  // when the queue was last empty
  std::atomic<double> shard_s_ = 0;
  double wait_s_ = 0;
  int room_ = 0;  // shards that this worker could have done more in the last step
  // Shards: more would hold the others up. As long as there are balanced_live_ workers.
  int most_ = kAnyNumber;
  int balanced_live_ = 0;
  double say_due_s_ = -1e9;  // when others are told at once that this one is short
  double balance_due_s_ = 0, balance_pause_s_ = 0;  // when records of workers are read next
  std::map<int, int> not_first_;  // by shard: in how many steps running another was first
};

}  // namespace meanwhile::runtime
