#include "meanwhile/measures/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

namespace meanwhile::measures {
namespace {

using Labels = std::vector<double>;
using Clusters = std::vector<std::int32_t>;

// By its definition, pair after pair.
double ari_by_pairs(const Labels& a, const Clusters& b) {
  double both = 0, in_a = 0, in_b = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      in_a += a[i] == a[j];
      in_b += b[i] == b[j];
      both += a[i] == a[j] && b[i] == b[j];
      ++all;
    }
  }
  const double expected = in_a * in_b / all;
  return (both - expected) / ((in_a + in_b) / 2 - expected);
}

// From shares of rows that are counted anew for each pair of parts.
double nmi_by_shares(const Labels& a, const Clusters& b) {
  const auto n = static_cast<double>(a.size());
  const auto entropy = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  double of_a = 0, of_b = 0, joint = 0;
  for (const double x : std::set(a.begin(), a.end())) {
    double rows = 0;
    for (const double label : a) rows += label == x;
    of_a += entropy(rows / n);
  }
  for (const std::int32_t y : std::set(b.begin(), b.end())) {
    double rows = 0;
    for (const std::int32_t cluster : b) rows += cluster == y;
    of_b += entropy(rows / n);
    for (const double x : std::set(a.begin(), a.end())) {
      double common = 0;
      for (std::size_t i = 0; i < a.size(); ++i) common += a[i] == x && b[i] == y;
      joint += entropy(common / n);
    }
  }
  return (of_a + of_b - joint) / ((of_a + of_b) / 2);
}

TEST(Agreement, IsThatOfAllPairsAndOfAllShares) {
  std::mt19937_64 random(5);
  for (const unsigned parts : {2U, 3U, 10U, 60U}) {
    Labels a;
    Clusters b;
    for (int i = 0; i < 120; ++i) {
      a.push_back(static_cast<double>(random() % parts) - 1.5);
      const bool follow = random() % 2 == 0;
      b.push_back(follow ? static_cast<std::int32_t>(a.back() + 1.5)
                         : static_cast<std::int32_t>(random() % 4));
    }
    const Agreement found = agreement(a, b);
    EXPECT_NEAR(found.ari, ari_by_pairs(a, b), 1e-12) << parts;
    EXPECT_NEAR(found.nmi, nmi_by_shares(a, b), 1e-12) << parts;
  }
}

TEST(Agreement, AtItsEnds) {
  const Labels a = {1, 1, 2, 2, 3}, one(5, 7.0), each = {1, 2, 3, 4, 5};
  const Clusters same = {4, 4, 0, 0, 2}, all(5, 3), alone = {0, 1, 2, 3, 4};
  EXPECT_EQ(agreement(a, same).ari, 1);
  EXPECT_NEAR(agreement(a, same).nmi, 1, 1e-15);
  EXPECT_EQ(agreement(a, all).ari, 0);
  EXPECT_EQ(agreement(a, all).nmi, 0);
  EXPECT_EQ(agreement(one, all).ari, 1);
  EXPECT_EQ(agreement(one, all).nmi, 1);
  EXPECT_EQ(agreement(each, alone).ari, 1);
  EXPECT_NEAR(agreement(each, alone).nmi, 1, 1e-15);
  EXPECT_EQ(agreement(one, alone).ari, 0);
  EXPECT_EQ(agreement(Labels{1}, Clusters{0}).ari, 1);
}

}  // namespace
}  // namespace meanwhile::measures
