#include "meanwhile/exchange/sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"

namespace meanwhile::exchange {
namespace {

constexpr std::size_t kSize = 5;
using Numbers = std::vector<double>;

UpdateShape flat(std::size_t size) { return {{.rows = static_cast<std::int64_t>(size)}}; }

// Numbers of such different sizes that nearly every order of adding them gives other bits.
Numbers update_of(int shard) {
  const base::Random random(1, base::Purpose::kUser, static_cast<std::uint32_t>(shard), 0);
  Numbers update(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    update[i] =
        (random.uniform(2 * i) - 0.5) * static_cast<double>(1 << random.below(2 * i + 1, 30));
  }
  return update;
}

// The sum as the definition of the tree says it, by one thread.
Numbers by_definition(Range node) {
  if (node.size() == 1) return update_of(node.begin);
  const auto [left, right] = children(node);
  Numbers sum = by_definition(left);
  const Numbers other = by_definition(right);
  for (std::size_t i = 0; i < kSize; ++i) sum[i] += other[i];
  return sum;
}

void fill(OrderedSum& sum, int shard) {
  Update update = sum.take();
  const Numbers values = update_of(shard);
  for (std::size_t i = 0; i < kSize; ++i) update.dense<double>(0)[i] += values[i];
  sum.give(shard, std::move(update));
}

Numbers numbers_of(const Update& update) {
  const std::span<const double> numbers = update.dense<double>(0);
  return {numbers.begin(), numbers.end()};
}

Numbers total_of(const OrderedSum& sum) { return numbers_of(sum.total()); }

TEST(OrderedSum, HasTheSameBitsForEveryOrderOfArrival) {
  for (const int shards : {1, 2, 3, 5, 8, 13}) {
    std::vector<int> order(static_cast<std::size_t>(shards));
    std::iota(order.begin(), order.end(), 0);
    const Numbers expected = by_definition({0, shards});
    OrderedSum sum(shards, flat(kSize));
    for (std::uint32_t trial = 0; trial < 50; ++trial) {
      const base::Random random(2, base::Purpose::kUser, 0, trial);
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i, i))]);
      }
      sum.restart(flat(kSize));
      for (const int shard : order) fill(sum, shard);
      EXPECT_EQ(total_of(sum), expected);
    }
  }
}

TEST(OrderedSum, HasTheSameBitsForEveryNumberOfThreads) {
  constexpr int kShards = 37;
  const Numbers expected = by_definition({0, kShards});
  for (const int threads : {1, 2, 3, 5, 8}) {
    base::ThreadPool pool(threads);
    OrderedSum sum(kShards, flat(kSize));
    for (int trial = 0; trial < 20; ++trial) {
      sum.restart(flat(kSize));
      pool.run(kShards, [&](std::int64_t shard, int) { fill(sum, static_cast<int>(shard)); });
      EXPECT_EQ(total_of(sum), expected);
    }
  }
}

TEST(OrderedSum, ForgetsAnUnfinishedSumWhenRestarted) {
  OrderedSum sum(4, flat(kSize));
  fill(sum, 1);
  fill(sum, 3);
  sum.restart(flat(kSize));
  for (int shard = 0; shard < 4; ++shard) fill(sum, shard);
  EXPECT_EQ(total_of(sum), by_definition({0, 4}));
}

TEST(OrderedSum, HandsOutClearedUpdatesOfTheShapeAskedFor) {
  OrderedSum sum(2, flat(3));
  sum.give(0, Update::of(Numbers{1, 2, 3}));
  sum.give(1, Update::of(Numbers{4, 5, 6}));
  EXPECT_EQ(total_of(sum), (Numbers{5, 7, 9}));
  sum.restart(flat(2));
  EXPECT_EQ(numbers_of(sum.take()), (Numbers{0, 0}));
  sum.restart(flat(7));
  EXPECT_EQ(numbers_of(sum.take()), Numbers(7, 0.0));
}

TEST(OrderedSum, OfAWorkersShardsAreTheSumsOfItsSubtrees) {
  for (const int shards : {1, 3, 7, 8, 13}) {
    for (const int workers : {1, 2, 3, 5, 8}) {
      for (int rank = 0; rank < workers; ++rank) {
        const Range mine = owned(shards, rank, workers);
        OrderedSum sum(shards, mine, flat(kSize));
        for (int shard = mine.end; shard-- > mine.begin;) fill(sum, shard);
        const std::vector<Range> expected = subtrees(mine, shards);
        const std::vector<Partial> partials = sum.partials();
        ASSERT_EQ(partials.size(), expected.size());
        for (std::size_t i = 0; i < partials.size(); ++i) {
          EXPECT_EQ(partials[i].range, expected[i]);
          EXPECT_EQ(numbers_of(*partials[i].update), by_definition(expected[i]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::exchange
