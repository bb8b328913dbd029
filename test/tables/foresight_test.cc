#include "meanwhile/tables/foresight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/order.h"

namespace meanwhile::tables {
namespace {

using Numbers = std::vector<std::int64_t>;

Foresight::Move move_of(const Numbers& numbers) { return std::make_shared<const Numbers>(numbers); }

Numbers missing_moves(const Foresight& foresight, const Numbers& cut, std::size_t size) {
  Numbers to(size, 0);
  foresight.add(cut, 0, to);
  return to;
}

// A reader that has looked at one model in all clocks and moved the same: the moves it foresees.
Numbers missing_moves(const Numbers& cut, std::size_t reader, int shards, std::int64_t clocks,
                      const Numbers& move) {
  Foresight foresight(move.size(), reader, static_cast<int>(cut.size()), shards);
  for (std::int64_t clock = 0; clock < clocks; ++clock) {
    foresight.learn(Numbers(move.size(), 0), move_of(move));
  }
  return missing_moves(foresight, cut, move.size());
}

// Four readers of two shards each, whose shards all move alike: nothing is missing in the model.
TEST(Foresight, IsRightWhereAllShardsMoveAlike) {
  const Numbers move = {2 * 50, -2 * 7};  // of two shards
  // At clock 5 reader 1 lacks clock 4 of readers 2 and 3, and clock 3 of reader 3.
  EXPECT_EQ(missing_moves({6, 5, 4, 3}, 1, 8, 5, move), (Numbers{6 * 50, -6 * 7}));
  EXPECT_EQ(missing_moves({6, 5, 5, 5}, 1, 8, 5, move), (Numbers{0, 0}));
}

TEST(Foresight, IsOfTheLastClocks) {
  const Numbers move = {2 * 50};
  EXPECT_EQ(missing_moves({9, 9, 9, 0}, 1, 8, 9, move), (Numbers{2 * kForeseen * 50}));
}

TEST(Foresight, GoesByTheShardsOfEach) {
  ASSERT_EQ(exchange::owned(5, 0, 3).size(), 1);
  ASSERT_EQ(exchange::owned(5, 1, 3).size(), 2);
  ASSERT_EQ(exchange::owned(5, 2, 3).size(), 2);
  EXPECT_EQ(missing_moves({1, 0, 0}, 0, 5, 1, {10}), (Numbers{40}));
  EXPECT_EQ(missing_moves({0, 1, 1}, 1, 5, 1, {10}), (Numbers{5}));
  EXPECT_EQ(missing_moves({0, 1, 1}, 1, 5, 1, {3}), (Numbers{2}));  // to the nearest even of two
}

// Two readers of a shard each. The sum of moves at which all are content is 2 * optimum.
Numbers move_towards(const Numbers& optimum, double part, const Numbers& looked_at) {
  Numbers move;
  for (std::size_t i = 0; i < optimum.size(); ++i) {
    move.push_back(
        static_cast<std::int64_t>(part * static_cast<double>(optimum[i] - looked_at[i] / 2)));
  }
  return move;
}

double share_after_clocks_of(double part) {
  const Numbers optimum = {1 << 20};
  Foresight foresight(1, 0, 2, 2);
  Numbers move;
  for (const std::int64_t looked_at : {0, 1 << 16, 1 << 18}) {
    move = move_towards(optimum, part, {looked_at});
    foresight.learn(Numbers{looked_at}, move_of(move));
  }
  return static_cast<double>(missing_moves(foresight, {3, 2}, 1)[0]) / static_cast<double>(move[0]);
}

// A clock that goes all the way needs all that is missing; one that goes a third of it gains by a
// lag.
TEST(Foresight, TakesTheShareThatDecaysAsRoundsDo) {
  EXPECT_NEAR(share_after_clocks_of(1), 1, 1e-3);
  EXPECT_NEAR(share_after_clocks_of(0.5), 0.5, 1e-3);
  EXPECT_EQ(share_after_clocks_of(0.37), 0);
  EXPECT_EQ(share_after_clocks_of(0.1), 0);
  EXPECT_EQ(share_after_clocks_of(-0.5), 0) << "a move away from the optimum is not repeated";
}

TEST(Foresight, GoesOnFromItsState) {
  Foresight one(1, 0, 2, 2), other(1, 0, 2, 2);
  const auto learn = [](Foresight& foresight, std::int64_t looked_at) {
    foresight.learn(Numbers{looked_at}, move_of(move_towards({1000}, 0.6, {looked_at})));
  };
  for (const std::int64_t looked_at : {0, 100, 300}) learn(one, looked_at);
  other.restore(one.state());
  for (Foresight* each : {&one, &other}) learn(*each, 700);
  EXPECT_EQ(missing_moves(one, {4, 2}, 1), missing_moves(other, {4, 2}, 1));
  EXPECT_NE(missing_moves(one, {4, 2}, 1), Numbers{0});
}

TEST(Foresight, OfMovesThatAreTooLargeIsRefused) {
  EXPECT_THROW(missing_moves({0, 0, 0}, 0, 3, 1, {std::int64_t{1} << 61}), base::Error);
}

}  // namespace
}  // namespace meanwhile::tables
