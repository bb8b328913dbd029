#include "meanwhile/tables/rotation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace meanwhile::tables {
namespace {

constexpr int kShards[] = {1, 2, 3, 5, 8, 13, 64};

TEST(Rotation, GivesEveryBlockToOneShardInAStep) {
  for (const int shards : kShards) {
    for (std::int64_t round = 0; round < 10; ++round) {
      const Rotation rotation(shards, 7, round);
      for (int step = 0; step < rotation.steps(); ++step) {
        std::set<int> blocks;
        for (int shard = 0; shard < shards; ++shard) {
          const int block = rotation.block(shard, step);
          EXPECT_TRUE(block >= 0 && block < shards);
          EXPECT_EQ(rotation.shard(block, step), shard);
          blocks.insert(block);
        }
        EXPECT_EQ(std::ssize(blocks), shards);
      }
    }
  }
}

TEST(Rotation, GivesEveryShardEveryBlockOnceInARound) {
  for (const int shards : kShards) {
    const Rotation rotation(shards, 11, 3);
    for (int shard = 0; shard < shards; ++shard) {
      std::set<int> blocks;
      for (int step = 0; step < rotation.steps(); ++step)
        blocks.insert(rotation.block(shard, step));
      EXPECT_EQ(std::ssize(blocks), shards);
    }
  }
}

// Blocks that a worker sends go to the shard before alone.
TEST(Rotation, HandsABlockToTheShardBefore) {
  for (const int shards : kShards) {
    const Rotation rotation(shards, 5, 2);
    for (int block = 0; block < shards; ++block) {
      for (int step = 1; step < rotation.steps(); ++step) {
        EXPECT_EQ(rotation.shard(block, step),
                  (rotation.shard(block, step - 1) + shards - 1) % shards);
      }
    }
  }
}

TEST(Rotation, IsAFunctionOfSeedAndRound) {
  const auto first_blocks = [](std::uint64_t seed, std::int64_t round) {
    const Rotation rotation(16, seed, round);
    std::vector<int> blocks;
    for (int shard = 0; shard < 16; ++shard) blocks.push_back(rotation.block(shard, 0));
    return blocks;
  };
  EXPECT_EQ(first_blocks(1, 4), first_blocks(1, 4));
  EXPECT_NE(first_blocks(1, 4), first_blocks(2, 4));
  EXPECT_NE(first_blocks(1, 4), first_blocks(1, 5));
}

// Every block is the first one of a shard about equally often.
TEST(Rotation, DrawsOrdersEvenly) {
  constexpr int kRounds = 4000, kBlocks = 8;
  std::vector<int> first(kBlocks, 0);
  for (int round = 0; round < kRounds; ++round) {
    ++first[static_cast<std::size_t>(Rotation(kBlocks, 3, round).block(0, 0))];
  }
  double chi2 = 0;
  for (const int times : first) {
    const double expected = static_cast<double>(kRounds) / kBlocks;
    chi2 += (times - expected) * (times - expected) / expected;
  }
  EXPECT_LT(chi2, 24.3);  // 7 degrees of freedom: one seed in a thousand is above
}

}  // namespace
}  // namespace meanwhile::tables
