#include "meanwhile/tune/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/expect_error.h"

namespace meanwhile::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Grid, HasEveryCombinationOnce) {
  const auto all = combinations({{"l1", {0.0, 1.0}}, {"l2", {1e-4, 1e-2, 1.0}}});
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0], (Json{{"l1", 0.0}, {"l2", 1e-4}}));
  EXPECT_EQ(all[4], (Json{{"l1", 1.0}, {"l2", 1e-2}}));
}

TEST(Grid, WithoutAListThereIsNothingToChoose) {
  EXPECT_THAT(usage_error_of([] { combinations({}); }), HasSubstr("several values"));
}

TEST(Grid, TooManyCombinationsAreRefused) {
  const std::vector<Json> many(101, 1);
  EXPECT_THAT(usage_error_of([&] {
                combinations({{"a", many}, {"b", many}});
              }),
              HasSubstr("10000"));
}

TEST(Grid, AChainGoesDownTheirPathAndKeepsTheOtherParameters) {
  const auto all = combinations({{"l1", {0.0, 1.0}}, {"l2", {1e-4, 1.0, 1e-2}}});
  const auto found = chains(all, {.path = "l2", .descending = true});
  EXPECT_THAT(found, ElementsAre(ElementsAre(1, 2, 0), ElementsAre(4, 5, 3)));
}

TEST(Grid, AChainGoesUpWhereThePathDoes) {
  const auto all = combinations({{"n_clusters", {5, 2, 3}}});
  EXPECT_THAT(chains(all, {.path = "n_clusters"}), ElementsAre(ElementsAre(1, 2, 0)));
}

TEST(Grid, WithoutAPathEachIsAChain) {
  const auto all = combinations({{"n_topics", {5, 2, 3}}});
  EXPECT_THAT(chains(all, {}), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

}  // namespace
}  // namespace meanwhile::tune
