#include "meanwhile/tables/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace meanwhile::tables {
namespace {

using Indices = std::vector<std::int32_t>;

TEST(Selection, TakesTheHighestAndOfEqualOnesTheFirst) {
  const std::vector<double> priority = {1, 3, 2, 3, 2, 2};
  EXPECT_EQ(select_highest(priority, 3), Indices({1, 2, 3}));
  EXPECT_EQ(select_highest(priority, 4), Indices({1, 2, 3, 4}));
  EXPECT_EQ(select_highest(priority, 0), Indices());
  EXPECT_EQ(select_highest(priority, 99), Indices({0, 1, 2, 3, 4, 5}));
}

TEST(Selection, LeavesOutWhatIsNotAboveTheBoundOrNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(select_highest(std::vector<double>{0, nan, inf, -1, 0.5}, 4), Indices({2, 4}));
  EXPECT_EQ(select_highest(std::vector<double>{1, 2, 3}, 4, 2), Indices({2}));
  EXPECT_EQ(select_highest({}, 4), Indices());
}

// Against a sort of all coordinates, with many ties.
TEST(Selection, AgreesWithASort) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<double> priority(1 + random() % 200);
    for (double& value : priority) value = static_cast<double>(random() % 12);
    const std::size_t most = random() % 40;
    Indices order(priority.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return priority[static_cast<std::size_t>(a)] > priority[static_cast<std::size_t>(b)];
    });
    Indices expected;
    for (const std::int32_t i : order) {
      if (expected.size() < most && priority[static_cast<std::size_t>(i)] > 0)
        expected.push_back(i);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(select_highest(priority, most), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace meanwhile::tables
