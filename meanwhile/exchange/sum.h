// The sum of one update per shard in the one order, by threads that share memory: of all shards, or
// of those that one worker of several owns.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/partial.h"

namespace meanwhile::exchange {

using Update = std::vector<double>;

// Updates arrive in any order; whoever brings the second of two siblings adds them. Memory: with P
// threads that take shards in order, about P + log2(S) updates are alive at once, not S.
// Thread safety: take() and give() may be called from any thread.
class OrderedSum {
 public:
  // REQUIRES: shards >= 1.
  OrderedSum(int shards, std::size_t size) : OrderedSum(shards, {0, shards}, size) {}
  // Of the shards in `mine` alone. REQUIRES: mine lies in 0 .. shards.
  OrderedSum(int shards, Range mine, std::size_t size)
      : shards_(shards), mine_(mine), size_(size) {}

  // Of an update.
  std::size_t size() const { return size_; }
  // A zeroed update to fill, of the size given.
  Update take();
  // Hands in the update of `shard`, once for each of mine.
  void give(int shard, Update update);
  // The sum. REQUIRES: mine is all shards, and every update was given.
  std::span<const double> total() const;
  // The sums of subtrees(mine, shards), in order; they live until restart().
  // REQUIRES: every update of mine was given.
  std::vector<Partial> partials() const;
  // Forgets the sum and starts the next, of updates of `size`; keeps the memory.
  void restart(std::size_t size);

 private:
  int shards_;
  Range mine_;
  std::size_t size_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<Range, Update>
      partials_;  // sums of subtrees whose sibling is still missing, or not mine
  std::vector<Update> free_;
};

}  // namespace meanwhile::exchange
