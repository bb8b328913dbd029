#include "meanwhile/data/deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace meanwhile::data {
namespace {

TEST(Deal, GivesEveryRowToExactlyOneShard) {
  for (const std::int64_t rows : {0, 1, 255, 256, 257, 5000, 100'001}) {
    for (const int shards : {1, 2, 3, 8, 64}) {
      std::vector<int> owners(static_cast<std::size_t>(rows));
      const std::vector<Shard> dealt = deal(rows, shards, 7);
      ASSERT_EQ(dealt.size(), static_cast<std::size_t>(shards));
      for (const Shard& shard : dealt) {
        std::int64_t count = 0, end = 0;
        for (const RowRange& block : shard.blocks) {
          EXPECT_LE(end, block.begin);  // in order
          EXPECT_LT(block.begin, block.end);
          EXPECT_LE(block.end - block.begin, kBlockRows);
          for (std::int64_t row = block.begin; row < block.end; ++row)
            ++owners[static_cast<std::size_t>(row)];
          count += block.end - block.begin;
          end = block.end;
        }
        EXPECT_EQ(shard.rows, count);
        EXPECT_EQ(shard.index, &shard - dealt.data());
      }
      for (const int owner : owners) ASSERT_EQ(owner, 1);
    }
  }
}

TEST(Deal, ShardsDifferByAtMostABlock) {
  for (const std::int64_t rows : {1000, 4096, 4097, 99'999}) {
    const std::vector<Shard> dealt = deal(rows, 8, 3);
    const auto [least, most] = std::minmax_element(
        dealt.begin(), dealt.end(), [](const Shard& a, const Shard& b) { return a.rows < b.rows; });
    EXPECT_LE(most->rows - least->rows, kBlockRows);
  }
}

TEST(Deal, EveryShardGetsOneBlockOfEachGroup) {
  for (const Shard& shard : deal(20 * 8 * kBlockRows, 8, 1)) {
    ASSERT_EQ(shard.blocks.size(), 20u);
    for (std::size_t group = 0; group < 20; ++group) {
      EXPECT_EQ(shard.blocks[group].begin / (8 * kBlockRows), static_cast<std::int64_t>(group));
    }
  }
}

TEST(Deal, DependsOnTheSeedAndTheShardsAndNothingElse) {
  const auto blocks = [](std::int64_t rows, int shards, std::uint64_t seed) {
    return deal(rows, shards, seed)[0].blocks;
  };
  EXPECT_EQ(blocks(100'000, 8, 7), blocks(100'000, 8, 7));
  EXPECT_NE(blocks(100'000, 8, 7), blocks(100'000, 8, 8));
  // Rows that are added later do not move those before them.
  const auto small = blocks(8 * 20 * kBlockRows, 8, 7), large = blocks(8 * 40 * kBlockRows, 8, 7);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
}

TEST(Deal, IsTheSameOnEveryMachineAndInEveryVersion) {
  // Frozen, as computed by another implementation: a resumed job must deal as the first did.
  std::vector<std::int64_t> first;
  for (const Shard& shard : deal(1024, 4, 42)) {
    first.push_back(shard.blocks.at(0).begin / block_rows(1024));
  }
  EXPECT_EQ(first, (std::vector<std::int64_t>{3, 0, 2, 1}));
}

TEST(Deal, SmallDataHasSmallBlocks) {
  EXPECT_EQ(block_rows(0), 1);
  EXPECT_EQ(block_rows(100), 1);
  EXPECT_EQ(block_rows(2000), 8);
  EXPECT_EQ(block_rows(128 * 256 - 1), 128);
  EXPECT_EQ(block_rows(128 * 256), 256);
  EXPECT_EQ(block_rows(1'000'000'000), 256);
  // Two thousand rows, sorted: each of eight shards has some of both halves.
  for (const Shard& shard : deal(2000, 8, 5)) {
    std::int64_t first = 0;
    for (const RowRange& block : shard.blocks) first += block.end <= 1000 ? 8 : 0;
    EXPECT_NEAR(static_cast<double>(first), 125, 16);
  }
}

TEST(Deal, AnySortedFileIsSpreadOverAllShards) {
  // Half of the rows of one class, then the other half: each shard must see both about equally.
  constexpr std::int64_t kRows = 64 * 8 * kBlockRows;
  for (const Shard& shard : deal(kRows, 8, 5)) {
    std::int64_t first_class = 0;
    for (const RowRange& block : shard.blocks)
      first_class += block.end <= kRows / 2 ? block.end - block.begin : 0;
    EXPECT_EQ(first_class, shard.rows / 2);
  }
}

TEST(Deal, EveryPlaceInAGroupIsEquallyLikely) {
  constexpr int kShards = 4, kGroups = 4000;
  std::vector<int> hits(kShards);
  const std::vector<Shard> dealt = deal(kGroups * kShards * kBlockRows, kShards, 11);
  for (const RowRange& block : dealt[0].blocks) {
    ++hits[static_cast<std::size_t>(block.begin / kBlockRows % kShards)];
  }
  for (const int count : hits)
    EXPECT_NEAR(count, kGroups / kShards, 137);  // five standard deviations
}

TEST(DefaultShards, IsEightUntilAShardWouldPassAQuarterOfAGibibyte) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(default_shards(0), 8);
  EXPECT_EQ(default_shards(2 * kGiB), 8);
  EXPECT_EQ(default_shards(2 * kGiB + 1), 16);
  EXPECT_EQ(default_shards(16 * kGiB), 64);
  EXPECT_EQ(default_shards(1000 * kGiB), 256);
}

}  // namespace
}  // namespace meanwhile::data
