#include "meanwhile/tables/foresight.h"

#include <gtest/gtest.h>

#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::tables {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers missing_moves(const Numbers& cut, std::size_t reader, int shards, std::int64_t clock,
                      const Numbers& move) {
  Numbers to(move.size(), 0);
  foresee(cut, reader, shards, clock, move, to);
  return to;
}

// Four readers of two shards each, whose shards all move alike: nothing is missing in the model.
TEST(Foresight, IsRightWhereAllShardsMoveAlike) {
  const Numbers move = {2 * 50, -2 * 7};  // of two shards
  // At clock 5 reader 1 lacks clock 4 of readers 2 and 3, and clock 3 of reader 3.
  const Numbers cut = {6, 5, 4, 3};
  EXPECT_EQ(missing_moves(cut, 1, 8, 4, move), (Numbers{4 * 50, -4 * 7}));
  EXPECT_EQ(missing_moves(cut, 1, 8, 3, move), (Numbers{2 * 50, -2 * 7}));
  EXPECT_EQ(missing_moves(cut, 1, 8, 2, move), (Numbers{0, 0}));
}

TEST(Foresight, GoesByTheShardsOfEach) {
  ASSERT_EQ(exchange::owned(5, 0, 3).size(), 1);
  ASSERT_EQ(exchange::owned(5, 1, 3).size(), 2);
  ASSERT_EQ(exchange::owned(5, 2, 3).size(), 2);
  EXPECT_EQ(missing_moves({1, 0, 0}, 0, 5, 0, {10}), (Numbers{40}));
  EXPECT_EQ(missing_moves({0, 1, 1}, 1, 5, 0, {10}), (Numbers{5}));
  EXPECT_EQ(missing_moves({0, 1, 1}, 1, 5, 0, {3}), (Numbers{2}));  // to the nearest even of two
}

TEST(Foresight, OfMovesThatAreTooLargeIsRefused) {
  EXPECT_THROW(missing_moves({0, 0, 0}, 0, 3, 0, {std::int64_t{1} << 61}), base::Error);
}

}  // namespace
}  // namespace meanwhile::tables
