#include "meanwhile/data/table/column_sketch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace meanwhile::data {
namespace {

TEST(ColumnSketch, CountsAreExactWhileValuesAreFew) {
  DistinctValues values(100);
  for (int i = 0; i < 1000; ++i) values.add(hash_of(i % 100), i % 100, 1 + i % 2);
  EXPECT_TRUE(values.exact());
  EXPECT_EQ(values.distinct(), 100);
  EXPECT_EQ(values.top(1).front().value, 1);
  EXPECT_EQ(values.top(1).front().count, 20);
}

TEST(ColumnSketch, ManyValuesAreEstimated) {
  for (const int many : {20'000, 300'000}) {
    DistinctValues values(4096);
    for (int i = 0; i < 2 * many; ++i) values.add(hash_of(0.5 * (i % many)), 0, 1);
    EXPECT_FALSE(values.exact());
    EXPECT_NEAR(values.distinct() / many, 1, 0.08);  // 3.5 deviations
  }
}

TEST(ColumnSketch, ZeroHasOneHash) { EXPECT_EQ(hash_of(0.0), hash_of(-0.0)); }

TEST(ColumnSketch, FrequentTextsSurviveRareOnes) {
  FrequentTexts texts(64);
  for (int i = 0; i < 20'000; ++i) {
    texts.add(fmt::format("rare {}", i), 1);
    if (i % 4 == 0) texts.add("often", 1);
    if (i % 8 == 0) texts.add("at times", 1);
  }
  const auto top = texts.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].text, "often");
  EXPECT_EQ(top[1].text, "at times");
  EXPECT_LE(top[0].count, 5000);
  EXPECT_GE(top[0].count, 5000 - texts.error());
  EXPECT_LT(texts.error(), 27'500 / 32);
}

TEST(ColumnSketch, MomentsOfPartsAreThoseOfTheWhole) {
  Moments whole, first, second;
  for (int i = 0; i < 100; ++i) {
    const double value = 1e6 + std::sin(i);
    whole.add(value, 1);
    (i < 30 ? first : second).add(value, 1);
  }
  first.add(second);
  double mean = 0, squares = 0;
  for (int i = 0; i < 100; ++i) mean += (1e6 + std::sin(i)) / 100;
  for (int i = 0; i < 100; ++i) squares += std::pow(1e6 + std::sin(i) - mean, 2);
  for (const Moments& moments : {whole, first}) {
    EXPECT_NEAR(moments.mean, mean, 1e-8);
    EXPECT_NEAR(moments.deviation(), std::sqrt(squares / 99), 1e-8);
  }
}

TEST(ColumnSketch, ASampleIsEvenAndBounded) {
  RowSample sample(1, 1000);
  for (std::int64_t row = 0; row < 100'000; ++row) {
    if (!sample.takes(row)) continue;
    if (double* const to = sample.add(row)) *to = static_cast<double>(row);
  }
  EXPECT_FALSE(sample.exact());
  EXPECT_GE(sample.rows(), 500u);
  EXPECT_LE(sample.rows(), 1000u);
  const auto sorted = sample.sorted(0);
  EXPECT_NEAR(quantile(sorted, 0.5), 50'000, 7'000);
  EXPECT_NEAR(quantile(sorted, 0.25), 25'000, 7'000);
}

TEST(ColumnSketch, QuantilesLieBetweenTheNearest) {
  const std::vector<double> sorted = {1, 2, 4};
  EXPECT_EQ(quantile(sorted, 0), 1);
  EXPECT_EQ(quantile(sorted, 0.25), 1.5);
  EXPECT_EQ(quantile(sorted, 0.75), 3);
  EXPECT_EQ(quantile(sorted, 1), 4);
}

}  // namespace
}  // namespace meanwhile::data
