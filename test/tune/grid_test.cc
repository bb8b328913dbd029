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

TEST(Grid, AnEdgeIsTheFirstOrLastNumberInTheirOrder) {
  const Axis axis{"l2", {1e-2, 1.0, 1e-4}};
  const auto low = edge_of(axis, 1e-4, 0), high = edge_of(axis, 1.0, 0);
  ASSERT_TRUE(low && high);
  EXPECT_FALSE(low->largest);
  EXPECT_TRUE(high->largest);
  EXPECT_EQ(low->next, 1e-2);
  EXPECT_EQ(high->next, 1e-2);
  EXPECT_FALSE(edge_of(axis, 1e-2, 0));
}

TEST(Grid, NeitherWordsNorTwoNumbersHaveAnEdge) {
  EXPECT_FALSE(edge_of({"init", {"random", "first", "k-means++"}}, "random", 0));
  EXPECT_FALSE(edge_of({"shards", {1, 2, "auto"}}, 1, 0));
  EXPECT_FALSE(edge_of({"l2", {1e-4, 1e-2}}, 1e-4, 0));
}

TEST(Grid, BelowTheLeastValueThereIsNoEdge) {
  const Axis axis{"l2", {0.0, 1e-4, 1e-2}};
  EXPECT_FALSE(edge_of(axis, 0.0, 0));
  EXPECT_TRUE(edge_of(axis, 1e-2, 0));
  EXPECT_FALSE(edge_of({"n_clusters", {2, 3, 4}}, 2, 2));
}

}  // namespace
}  // namespace meanwhile::tune
