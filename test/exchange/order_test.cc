#include "meanwhile/exchange/order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace meanwhile::exchange {
namespace {

std::string written(Range node) {
  if (node.size() == 1) return std::to_string(node.begin);
  const auto [left, right] = children(node);
  return fmt::format("({} {})", written(left), written(right));
}

TEST(Order, IsTheLeftPackedBinaryTree) {
  EXPECT_EQ(written({0, 1}), "0");
  EXPECT_EQ(written({0, 2}), "(0 1)");
  EXPECT_EQ(written({0, 3}), "((0 1) 2)");
  EXPECT_EQ(written({0, 5}), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(written({0, 7}), "(((0 1) (2 3)) ((4 5) 6))");
  EXPECT_EQ(written({0, 8}), "(((0 1) (2 3)) ((4 5) (6 7)))");
}

TEST(Order, ChildrenPartTheirParentAndSiblingsFindThemAgain) {
  for (int shards = 1; shards <= 70; ++shards) {
    int leaves = 0;
    const std::function<void(Range)> visit = [&](Range node) {
      if (node.size() == 1) {
        EXPECT_EQ(node.begin, leaves++);
        return;
      }
      const auto [left, right] = children(node);
      EXPECT_EQ(left.begin, node.begin);
      EXPECT_EQ(left.end, right.begin);
      EXPECT_EQ(right.end, node.end);
      EXPECT_GE(left.size(), right.size());
      for (const Range child : {left, right}) {
        const Children found = siblings(child, shards);
        EXPECT_EQ(found.left, left);
        EXPECT_EQ(found.right, right);
      }
      visit(left);
      visit(right);
    };
    visit({0, shards});
    EXPECT_EQ(leaves, shards);
  }
}

TEST(Order, WorkersOwnAllShardsOnceInOrderAndEvenly) {
  for (int shards = 1; shards <= 40; ++shards) {
    for (int workers = 1; workers <= 50; ++workers) {
      int next = 0;
      for (int rank = 0; rank < workers; ++rank) {
        const Range mine = owned(shards, rank, workers);
        EXPECT_EQ(mine.begin, next);
        EXPECT_GE(mine.size(), shards / workers);
        EXPECT_LE(mine.size(), shards / workers + 1);
        next = mine.end;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(Order, SubtreesAreTheLargestWholeOnesOfARange) {
  EXPECT_EQ(subtrees({0, 7}, 7), (std::vector<Range>{{0, 7}}));
  EXPECT_EQ(subtrees({2, 6}, 7), (std::vector<Range>{{2, 4}, {4, 6}}));
  EXPECT_EQ(subtrees({1, 7}, 8), (std::vector<Range>{{1, 2}, {2, 4}, {4, 6}, {6, 7}}));
  EXPECT_EQ(subtrees({4, 7}, 7), (std::vector<Range>{{4, 7}}));
  EXPECT_TRUE(subtrees({3, 3}, 7).empty());
  for (int shards = 1; shards <= 33; ++shards) {
    for (int begin = 0; begin < shards; ++begin) {
      for (int end = begin + 1; end <= shards; ++end) {
        int next = begin;
        for (const Range node : subtrees({begin, end}, shards)) {
          EXPECT_EQ(node.begin, next);
          next = node.end;
          if (node.size() == shards) continue;
          const Children above = siblings(node, shards);
          EXPECT_FALSE(begin <= above.left.begin && above.right.end <= end) << "not the largest";
        }
        EXPECT_EQ(next, end);
      }
    }
  }
}

}  // namespace
}  // namespace meanwhile::exchange
