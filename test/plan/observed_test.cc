#include "meanwhile/plan/observed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meanwhile::plan {
namespace {

TEST(Observed, SaysHowStaleReadsWereAndWhatTheoryMakesOfIt) {
  const std::vector<std::int64_t> histogram = {2, 4, 0, 2};
  const Observed observed = observed_of(histogram, 8);
  EXPECT_DOUBLE_EQ(observed.spread.mean, 10.0 / 8);
  EXPECT_DOUBLE_EQ(observed.spread.variance, (4 + 18) / 8.0 - 1.25 * 1.25);
  EXPECT_EQ(observed.most, 3);
  EXPECT_DOUBLE_EQ(observed.regret_by_bound, 3);
  EXPECT_DOUBLE_EQ(observed.regret_by_mean, std::sqrt(3.5));
  EXPECT_THAT(to_text(observed), testing::HasSubstr("1.2 rounds of another worker in the mean, 3"));
  EXPECT_EQ(to_json(observed)["histogram"], base::Json(histogram));
}

}  // namespace
}  // namespace meanwhile::plan
