#include "meanwhile/measures/quantiles.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meanwhile::measures {
namespace {

using Values = std::vector<double>;

TEST(Quantiles, AreValuesThatThereAre) {
  const Values shares = {0, 0.25, 0.5, 0.75, 1};
  EXPECT_EQ(quantiles(Values{4, 1, 3, 2}, {}, shares), (Values{1, 1, 2, 3, 4}));
  EXPECT_EQ(quantiles(Values{7}, {}, shares), Values(5, 7.0));
}

TEST(Quantiles, WeightTwoIsTheValueTwice) {
  const Values shares = {0, 0.1, 0.3, 0.5, 0.6, 0.8, 1};
  EXPECT_EQ(quantiles(Values{5, 1, 9, 2}, Values{1, 2, 0, 3}, shares),
            quantiles(Values{5, 1, 1, 2, 2, 2}, {}, shares));
}

TEST(Quantiles, OfNothing) {
  EXPECT_TRUE(std::isnan(quantiles({}, {}, Values{0.5})[0]));
  EXPECT_TRUE(std::isnan(quantiles(Values{1, 2}, Values{0, 0}, Values{0.5})[0]));
  EXPECT_TRUE(std::isnan(quantiles(Values{1, NAN}, {}, Values{0.5})[0]));
}

}  // namespace
}  // namespace meanwhile::measures
