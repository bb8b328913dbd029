// The adding of a worker: adds the updates of the groups it holds as they appear and, if it holds
// the root, the sums of groups. An activity of its own, so that downloads overlap the work on rows.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/runtime/storage/activity.h"
#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// Thread safety: any thread.
class Reducer {
 public:
  // Everything is borrowed. `downloads`: how many are made at the same time. Wakes
  // Activity::kReduce when there is something to add, and Activity::kRounds when the total is
  // there.
  Reducer(storage::BlobStore& blobs, const JobRecord& job, int downloads, PollBudget& budget,
          Environment& environment);
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // From here on, updates of step `step`, of this shape, are added.
  void begin(std::int64_t step, const exchange::UpdateShape& shape) MW_EXCLUDES(mutex_);
  // The last step is over: nothing is added or put any more.
  void rest() MW_EXCLUDES(mutex_);
  // The groups (and the root) this worker reduces. Shard tasks are ignored.
  void set_tasks(const std::set<Task>& tasks) MW_EXCLUDES(mutex_);
  // An update that this worker made itself and has put: it need not be downloaded to be added here.
  // One of the step after the present is added to a sum that waits until that step begins.
  void own(std::int64_t step, int shard, const exchange::Update& update) MW_EXCLUDES(mutex_);

  // Whether take_total() would return one.
  bool has_total(std::int64_t step) const MW_EXCLUDES(mutex_);
  // The sum over all shards, once, if this worker holds the root and has put it.
  std::optional<exchange::Update> take_total(std::int64_t step) MW_EXCLUDES(mutex_);

  // Activity::kReduce: looks for parts of the open sums if a look is due, adds those that are new,
  // and puts sums that are complete. While the step lasts, puts those again that got lost or
  // damaged.
  Wait step(double now_s) MW_EXCLUDES(step_mutex_, mutex_);
  // Returns when no step is running; later ones do nothing, so that nothing is put any more.
  void stop() MW_EXCLUDES(step_mutex_, mutex_);
  // THROWS the error that ended step().
  void check() const MW_EXCLUDES(mutex_);

 private:
  // When a blob that was put is looked at again: at growing intervals.
  struct Looks {
    double due_s = 0, pause_s = 0;
    void begin(double now_s);
    // Whether one is due; then the next is set.
    bool take(double now_s);
  };

  // The adding of one group, or of the root. Shared: a step may still add to it when the worker is
  // at the next.
  struct Sum {
    Sum(Task what, int count, const exchange::UpdateShape& shape, std::int64_t at)
        : task(what),
          step(at),
          sum(count, shape),
          claimed(static_cast<std::size_t>(count), false),
          unread(static_cast<std::size_t>(count), 0) {}
    const Task task;
    const std::int64_t step;
    exchange::OrderedSum sum;
    // Guarded by the reducer's mutex_:
    std::vector<bool> claimed;  // by part: a thread has the part, and will give it to `sum`
    std::size_t given = 0;      // parts that `sum` has
    std::vector<int> unread;    // by part: how often running it was there, but not whole
    bool put = false;
    Looks looks;
    bool complete() const { return given == claimed.size(); }
  };
  using SharedSum = std::shared_ptr<Sum>;
  using Sums = std::map<Task, SharedSum>;

  std::vector<SharedSum> open_sums(double now_s) MW_REQUIRES(step_mutex_) MW_EXCLUDES(mutex_);
  bool advance(const SharedSum& sum, bool poll) MW_REQUIRES(step_mutex_) MW_EXCLUDES(mutex_);
  bool add_part(Sum& sum, int part) MW_EXCLUDES(mutex_);
  void remove_damaged(Sum& sum, int part) MW_EXCLUDES(mutex_);
  std::set<int> present(const Sum& sum);
  std::string part_name(const Sum& sum, int part) const;
  int first_part(const Sum& sum) const;
  bool claim(Sum& sum, int part) MW_REQUIRES(mutex_);
  void give(Sum& sum, int part, exchange::Update update) MW_EXCLUDES(mutex_);
  void finish(Sum& sum) MW_REQUIRES(step_mutex_) MW_EXCLUDES(mutex_);
  std::string name_of(const Sum& sum) const;
  bool is_needed(const Sum& sum);
  double mend(double now_s) MW_REQUIRES(step_mutex_) MW_EXCLUDES(mutex_);
  double mend_last_total(double now_s) MW_REQUIRES(step_mutex_) MW_EXCLUDES(mutex_);
  bool all_put(const std::vector<SharedSum>& sums) const MW_EXCLUDES(mutex_);
  bool is_complete(const Sum& sum) const MW_EXCLUDES(mutex_);
  SharedSum find(Task task) MW_REQUIRES(mutex_);
  SharedSum find(Sums& sums, Task task, std::int64_t step, const exchange::UpdateShape& shape)
      MW_REQUIRES(mutex_);

  storage::BlobStore& blobs_;
  const Names names_;
  const Layout layout_;
  PollBudget& budget_;
  Environment& environment_;

  base::Mutex step_mutex_ MW_ACQUIRED_BEFORE(mutex_);  // one step at a time
  base::ThreadPool downloads_ MW_GUARDED_BY(step_mutex_);
  Pace pace_ MW_GUARDED_BY(step_mutex_);
  std::int64_t paced_step_ MW_GUARDED_BY(step_mutex_) = -1;  // the step pace_ waits for
  // The last total that was put here: workers that have not read it yet may be a step behind.
  std::int64_t total_step_ MW_GUARDED_BY(step_mutex_) = -1;
  storage::Bytes total_blob_ MW_GUARDED_BY(step_mutex_);
  Looks total_looks_ MW_GUARDED_BY(step_mutex_);

  mutable base::Mutex mutex_;
  std::int64_t step_ MW_GUARDED_BY(mutex_) = -1;
  exchange::UpdateShape shape_ MW_GUARDED_BY(mutex_);
  std::set<Task> tasks_ MW_GUARDED_BY(mutex_);
  Sums sums_ MW_GUARDED_BY(mutex_);       // of step_
  Sums next_sums_ MW_GUARDED_BY(mutex_);  // of step_ + 1, with parts made here alone
  std::optional<exchange::Update> total_ MW_GUARDED_BY(mutex_);
  std::exception_ptr failure_ MW_GUARDED_BY(mutex_);
  bool ended_ MW_GUARDED_BY(mutex_) = false;
};

}  // namespace meanwhile::runtime
