#include "meanwhile/data/strata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace meanwhile::data {
namespace {

using testing::ElementsAre;

struct Dealt {
  std::vector<int> part;                          // of each row
  std::vector<std::vector<std::int64_t>> counts;  // by stratum and part
};

Dealt deal_rows(const std::vector<std::size_t>& strata, std::size_t count,
                const std::vector<double>& shares, std::uint64_t seed) {
  std::vector<std::int64_t> sizes(count, 0);
  for (const std::size_t stratum : strata) ++sizes[stratum];
  Strata dealer(sizes, shares, seed);
  Dealt dealt;
  dealt.counts.assign(count, std::vector<std::int64_t>(shares.size(), 0));
  for (const std::size_t stratum : strata) {
    dealt.part.push_back(dealer.next(stratum));
    ++dealt.counts[stratum][static_cast<std::size_t>(dealt.part.back())];
  }
  return dealt;
}

TEST(Strata, EveryPartHasItsShareOfEveryStratumAndOfAllRows) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const std::size_t count = 1 + random() % 5, parts = 2 + random() % 6;
    std::vector<std::size_t> strata(50 + random() % 200);
    for (std::size_t& stratum : strata) stratum = random() % count;
    const std::vector<double> shares(parts, 1.0 / static_cast<double>(parts));
    const Dealt dealt = deal_rows(strata, count, shares, random());
    std::vector<std::int64_t> all(parts, 0);
    for (const auto& counts : dealt.counts) {
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      EXPECT_LE(*most - *least, 1);
      for (std::size_t part = 0; part < parts; ++part) all[part] += counts[part];
    }
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    EXPECT_LE(*most - *least, 1);
  }
}

TEST(Strata, AShareThatIsAWholeNumberOfRowsIsExact) {
  const std::vector<std::size_t> strata(1000, 0);
  EXPECT_THAT(deal_rows(strata, 1, {0.8, 0.2}, 7).counts[0], ElementsAre(800, 200));
  EXPECT_THAT(deal_rows(std::vector<std::size_t>(5, 0), 1, {0.8, 0.2}, 7).counts[0],
              ElementsAre(4, 1));
}

TEST(Strata, SaysBeforeHowManyRowsAPartWillHave) {
  Strata dealer({7, 3}, {0.5, 0.5}, 1);
  EXPECT_EQ(dealer.rows(0) + dealer.rows(1), 10);
  EXPECT_EQ(dealer.rows(0, 0) + dealer.rows(1, 0), dealer.rows(0));
}

TEST(Strata, EachRowIsAsLikelyInAPartAsAnyOther) {
  constexpr int kSeeds = 2000;
  const std::vector<std::size_t> strata(10, 0);
  std::vector<double> drawn(strata.size(), 0);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Dealt dealt = deal_rows(strata, 1, {0.7, 0.3}, seed);
    for (std::size_t row = 0; row < strata.size(); ++row) drawn[row] += dealt.part[row];
  }
  // Binomial: five standard deviations.
  const double far = 5 * std::sqrt(kSeeds * 0.3 * 0.7);
  for (const double count : drawn) EXPECT_NEAR(count, 0.3 * kSeeds, far);
}

TEST(Strata, TheSeedAloneDecides) {
  const std::vector<std::size_t> strata(100, 0);
  EXPECT_EQ(deal_rows(strata, 1, {0.5, 0.5}, 1).part, deal_rows(strata, 1, {0.5, 0.5}, 1).part);
  EXPECT_NE(deal_rows(strata, 1, {0.5, 0.5}, 1).part, deal_rows(strata, 1, {0.5, 0.5}, 2).part);
}

}  // namespace
}  // namespace meanwhile::data
