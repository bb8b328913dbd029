// The shards of one worker in one round, where its neighbours may take some and it may take some of
// theirs. Which worker has which shard changes; every worker's stay a contiguous range.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/exchange/order.h"

namespace meanwhile::job {

// The worker of the rank before, and of the rank after.
enum class Side { kBefore, kAfter };

// Threads of the worker begin where the reach of its neighbours ends: in the middle and outwards,
// or at the end that has no neighbour. A neighbour gets the outermost shard on its side.
// Thread safety: all of it may be called from any thread.
class ShardQueue {
 public:
  struct Options {
    exchange::Range own;  // the shards to begin with
    int middle = 0;       // shards before it may go to the worker before, others to the one after
    int first = 0;        // the threads' shards grow from here: `middle`, or an end of `own`
    int threads = 1;      // that take shards
  };
  explicit ShardQueue(const Options& options);

  // For the threads that work: the next shard. Waits while there is none, but one may still come.
  // Nothing after end() or stop().
  std::optional<int> take();
  void finished(double seconds);

  // For the thread that trades. Waits until every shard has begun, at most for `most`. True when
  // all have, or after stop().
  bool wait_until_all_began(std::chrono::microseconds most);
  // Waits until a thread has nothing to do. False after stop().
  bool wait_for_idle();
  // Gives away the outermost shard on a side, or nothing: when there is none that has not begun, or
  // none that the neighbour holds; when this worker would be done with it before the neighbour is,
  // to which a shard takes `their_seconds`.
  std::optional<int> give(Side to, double their_seconds);
  // Takes a shard of a neighbour. THROWS Error(kFailed) when it does not lie next to mine.
  void add(int shard);
  // No shard is to come any more.
  void end();
  // Begins no more shards: something failed.
  void stop();

  // Mean seconds of the shards that were finished here; 0 before the first.
  double seconds_a_shard() const;
  // The shards that this worker made, or makes.
  exchange::Range made() const;

 private:
  int waiting() const MW_REQUIRES(mutex_);
  exchange::Range range() const MW_REQUIRES(mutex_);

  const Options options_;
  mutable base::Mutex mutex_;
  base::Condition changed_;
  exchange::Range own_ MW_GUARDED_BY(mutex_);     // less those that were given away
  exchange::Range begun_ MW_GUARDED_BY(mutex_);   // of them
  std::vector<int> added_ MW_GUARDED_BY(mutex_);  // of neighbours, not begun
  int taken_before_ MW_GUARDED_BY(mutex_) = 0, taken_after_ MW_GUARDED_BY(mutex_) = 0;
  int idle_ MW_GUARDED_BY(mutex_) = 0;  // threads that wait in take()
  int finished_ MW_GUARDED_BY(mutex_) = 0;
  double seconds_ MW_GUARDED_BY(mutex_) = 0;
  bool ended_ MW_GUARDED_BY(mutex_) = false, stopped_ MW_GUARDED_BY(mutex_) = false;
};

}  // namespace meanwhile::job
