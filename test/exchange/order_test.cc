#include "meanwhile/exchange/order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

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

}  // namespace
}  // namespace meanwhile::exchange
