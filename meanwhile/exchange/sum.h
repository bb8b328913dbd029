// The sum of one update per shard in the one order, by threads that share memory: over all shards,
// or over those that one worker of several owns.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/partial.h"

namespace meanwhile::exchange {

// Updates arrive in any order; the thread that brings the second of two siblings adds them. Memory:
// with P threads that take shards in order, about P + log2(S) updates are alive at once, not S.
// Thread safety: take() and give() may be called from any thread.
class OrderedSum {
 public:
  // REQUIRES: shards >= 1.
  OrderedSum(int shards, UpdateShape shape) : OrderedSum(shards, {0, shards}, std::move(shape)) {}
  // The sum over the shards in `mine` alone. REQUIRES: mine lies in 0 .. shards.
  OrderedSum(int shards, Range mine, UpdateShape shape)
      : shards_(shards), mine_(mine), shape_(std::move(shape)) {}

  // The shape of updates.
  const UpdateShape& shape() const { return shape_; }
  // A cleared update to fill.
  Update take();
  // Hands in the update of `shard`, once for each of mine. THROWS what Update::add() does.
  void give(int shard, Update update);
  // The sum. REQUIRES: mine is all shards, and every update was given.
  const Update& total() const;
  // The sums of subtrees(mine, shards), in order; they live until restart().
  // REQUIRES: every update of mine was given.
  std::vector<Partial> partials() const { return partials(mine_); }
  // The same where updates of the shards in `made` were given, and no others: a worker may not know
  // at first which shards it will have. REQUIRES: mine is all shards.
  std::vector<Partial> partials(Range made) const;
  // Forgets the sum and starts the next, of updates of `shape`. Keeps the memory where that is the
  // shape of before.
  void restart(const UpdateShape& shape);

 private:
  int shards_;
  Range mine_;
  UpdateShape shape_;
  mutable base::Mutex mutex_;
  // Sums of subtrees whose sibling is still missing, or not mine.
  std::map<Range, Update> partials_ MW_GUARDED_BY(mutex_);
  std::vector<Update> free_ MW_GUARDED_BY(mutex_);
};

}  // namespace meanwhile::exchange
