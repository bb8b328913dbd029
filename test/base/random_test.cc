#include "meanwhile/base/random.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace meanwhile::base {
namespace {

// The known-answer vectors that Random123 publishes for philox4x32-10.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, EveryPartOfTheKeyChangesTheNumber) {
  const Random base(1, Purpose::kDeal, 2, 3);
  const std::set<std::uint64_t> numbers = {
      base.bits(4),
      base.bits(5),
      base.bits(4 + (std::uint64_t{1} << 32)),
      Random(2, Purpose::kDeal, 2, 3).bits(4),
      Random(1 + (std::uint64_t{1} << 32), Purpose::kDeal, 2, 3).bits(4),
      Random(1, Purpose::kSeeding, 2, 3).bits(4),
      Random(1, Purpose::kDeal, 3, 3).bits(4),
      Random(1, Purpose::kDeal, 2, 4).bits(4),
  };
  EXPECT_EQ(numbers.size(), 8u);
  EXPECT_EQ(base.bits(4), Random(1, Purpose::kDeal, 2, 3).bits(4));
}

TEST(Random, UniformFillsTheUnitIntervalEvenly) {
  const Random random(7, Purpose::kUser, 0, 0);
  constexpr int kBins = 16, kDraws = 160'000;
  std::vector<int> hits(kBins);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = random.uniform(i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++hits[static_cast<std::size_t>(u * kBins)];
  }
  // 10,000 expected, standard deviation 97: five of them.
  for (const int count : hits) EXPECT_NEAR(count, kDraws / kBins, 485);
}

TEST(Random, BelowReachesEveryNumberAndNoMore) {
  const Random random(7, Purpose::kUser, 0, 0);
  for (const std::uint64_t bound : {1u, 2u, 3u, 10u}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(random.below(i, bound));
    EXPECT_EQ(seen.size(), bound);
    EXPECT_EQ(*seen.rbegin(), bound - 1);
  }
}

}  // namespace
}  // namespace meanwhile::base
