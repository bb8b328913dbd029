// Which shard may write which block of rows in a step of a round: the schedule of model
// parallelism, whole and pure (Gemulla, Nijkamp, Haas and Sismanis, "Large-scale matrix
// factorization with distributed stochastic gradient descent", KDD 2011; STRADS, EuroSys 2016).
//
// There are as many blocks as shards, and as many steps in a round. In a step every shard has one
// block and every block one shard; in a round every shard has every block once. No row is written
// by two shards in a step, so the result of a round is that of one sequential order of its work: a
// function of (shards, seed, round), never of threads or workers.
//
// In step t shard i has block order[(i + t) mod S]. The block then moves to shard i - 1, whichever
// the round: a worker hands blocks to the worker before it alone, and within a worker nothing
// moves. `order` differs from round to round, so that a shard does not meet blocks in one order.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "meanwhile/base/random.h"

namespace meanwhile::tables {

// Thread safety: const. Costs 8 S bytes.
class Rotation {
 public:
  // REQUIRES: shards >= 1; round >= 0.
  Rotation(int shards, std::uint64_t seed, std::int64_t round)
      : order_(static_cast<std::size_t>(shards)), places_(order_.size()) {
    // No shard has this number, so that no other shuffle draws the same numbers.
    const base::Random random(seed, base::Purpose::kShuffle, ~std::uint32_t{0},
                              static_cast<std::uint32_t>(round));
    std::iota(order_.begin(), order_.end(), 0);
    for (std::size_t left = order_.size(); left > 1; --left) {
      std::swap(order_[left - 1], order_[random.below(left, left)]);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      places_[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
    }
  }

  int shards() const { return static_cast<int>(order_.size()); }
  // Steps of a round.
  int steps() const { return shards(); }

  // The block that `shard` may write in `step`. REQUIRES: 0 <= shard, step < shards().
  int block(int shard, int step) const {
    assert(shard >= 0 && shard < shards() && step >= 0 && step < shards());
    return order_[static_cast<std::size_t>((shard + step) % shards())];
  }
  // The shard that may write `block` in `step`. REQUIRES: 0 <= block, step < shards().
  int shard(int block, int step) const {
    assert(block >= 0 && block < shards() && step >= 0 && step < shards());
    return (places_[static_cast<std::size_t>(block)] - step + shards()) % shards();
  }

 private:
  std::vector<int> order_;
  std::vector<int> places_;  // of each block in order_
};

}  // namespace meanwhile::tables
