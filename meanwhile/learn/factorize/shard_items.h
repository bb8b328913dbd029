// The ratings of a shard by item: the same ratings as its rows, in another order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/learn/factorize/ratings.h"

namespace meanwhile::learn::factorize {

struct ShardItems {
  std::vector<std::int32_t> items;       // that have ratings, ascending
  std::vector<std::int64_t> starts;      // of each of them, and the end
  base::Buffer<std::int32_t> users;      // counted from the first of the shard, ascending
  base::Buffer<float> ratings, weights;  // weights: empty if all weigh 1
};

// `rows`: of the shard.
ShardItems items_of(const Ratings& ratings, data::RowRange rows);

}  // namespace meanwhile::learn::factorize
