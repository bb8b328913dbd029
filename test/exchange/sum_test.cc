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

// Numbers of such different sizes that nearly every order of adding them gives other bits.
Update update_of(int shard) {
  const base::Random random(1, base::Purpose::kUser, static_cast<std::uint32_t>(shard), 0);
  Update update(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    update[i] =
        (random.uniform(2 * i) - 0.5) * static_cast<double>(1 << random.below(2 * i + 1, 30));
  }
  return update;
}

// The sum as the definition of the tree says it, by one thread.
Update by_definition(Range node) {
  if (node.size() == 1) return update_of(node.begin);
  const auto [left, right] = children(node);
  Update sum = by_definition(left);
  const Update other = by_definition(right);
  for (std::size_t i = 0; i < kSize; ++i) sum[i] += other[i];
  return sum;
}

void fill(OrderedSum& sum, int shard) {
  Update update = sum.take();
  const Update values = update_of(shard);
  for (std::size_t i = 0; i < update.size(); ++i) update[i] += values[i];
  sum.give(shard, std::move(update));
}

Update total_of(const OrderedSum& sum) {
  const std::span<const double> total = sum.total();
  return {total.begin(), total.end()};
}

TEST(OrderedSum, HasTheSameBitsForEveryOrderOfArrival) {
  for (const int shards : {1, 2, 3, 5, 8, 13}) {
    std::vector<int> order(static_cast<std::size_t>(shards));
    std::iota(order.begin(), order.end(), 0);
    const Update expected = by_definition({0, shards});
    OrderedSum sum(shards, kSize);
    for (std::uint32_t trial = 0; trial < 50; ++trial) {
      const base::Random random(2, base::Purpose::kUser, 0, trial);
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i, i))]);
      }
      sum.restart(kSize);
      for (const int shard : order) fill(sum, shard);
      EXPECT_EQ(total_of(sum), expected);
    }
  }
}

TEST(OrderedSum, HasTheSameBitsForEveryNumberOfThreads) {
  constexpr int kShards = 37;
  const Update expected = by_definition({0, kShards});
  for (const int threads : {1, 2, 3, 5, 8}) {
    base::ThreadPool pool(threads);
    OrderedSum sum(kShards, kSize);
    for (int trial = 0; trial < 20; ++trial) {
      sum.restart(kSize);
      pool.run(kShards, [&](std::int64_t shard, int) { fill(sum, static_cast<int>(shard)); });
      EXPECT_EQ(total_of(sum), expected);
    }
  }
}

TEST(OrderedSum, ForgetsAnUnfinishedSumWhenRestarted) {
  OrderedSum sum(4, kSize);
  fill(sum, 1);
  fill(sum, 3);
  sum.restart(kSize);
  for (int shard = 0; shard < 4; ++shard) fill(sum, shard);
  EXPECT_EQ(total_of(sum), by_definition({0, 4}));
}

TEST(OrderedSum, HandsOutZeroedUpdatesOfTheSizeAskedFor) {
  OrderedSum sum(2, 3);
  sum.give(0, {1, 2, 3});
  sum.give(1, {4, 5, 6});
  EXPECT_EQ(total_of(sum), (Update{5, 7, 9}));
  sum.restart(2);
  EXPECT_EQ(sum.take(), (Update{0, 0}));
  sum.restart(7);
  EXPECT_EQ(sum.take(), Update(7, 0.0));
}

TEST(OrderedSum, OfAWorkersShardsAreTheSumsOfItsSubtrees) {
  for (const int shards : {1, 3, 7, 8, 13}) {
    for (const int workers : {1, 2, 3, 5, 8}) {
      for (int rank = 0; rank < workers; ++rank) {
        const Range mine = owned(shards, rank, workers);
        OrderedSum sum(shards, mine, kSize);
        for (int shard = mine.end; shard-- > mine.begin;) fill(sum, shard);
        const std::vector<Range> expected = subtrees(mine, shards);
        const std::vector<Partial> partials = sum.partials();
        ASSERT_EQ(partials.size(), expected.size());
        for (std::size_t i = 0; i < partials.size(); ++i) {
          EXPECT_EQ(partials[i].range, expected[i]);
          EXPECT_EQ(Update(partials[i].values.begin(), partials[i].values.end()),
                    by_definition(expected[i]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::exchange
