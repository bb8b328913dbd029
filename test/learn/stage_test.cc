#include "meanwhile/learn/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meanwhile::learn {
namespace {

using testing::ElementsAre;

TEST(RowsBlock, IsSparseWhereTheSumOfTwoShardsHasFewRows) {
  EXPECT_TRUE(rows_block(1000, 1, 22).sparse);
  EXPECT_FALSE(rows_block(1000, 1, 23).sparse);
  EXPECT_TRUE(rows_block(1000, 100, 220).sparse);
  EXPECT_FALSE(rows_block(1000, 100, 230).sparse);
  EXPECT_FALSE(rows_block(0, 3, 0).sparse);
  // A row must fit into a message.
  EXPECT_TRUE(rows_block(100, exchange::kMostRowBytes / 8, 1).sparse);
  EXPECT_FALSE(rows_block(100, exchange::kMostRowBytes / 8 + 1, 1).sparse);
}

TEST(PutRows, TouchesRowsThatAreNotPlainZero) {
  const double rows[5][2] = {{0, 0}, {1, 0}, {0, -0.0}, {0, 0}, {NAN, 0}};
  for (const bool sparse : {false, true}) {
    exchange::Update update(exchange::UpdateShape{{.rows = 5, .width = 2, .sparse = sparse}});
    put_rows(update, 0, [&](std::int64_t i, double* to) { std::copy_n(rows[i], 2, to); });
    if (sparse) {
      EXPECT_THAT(update.touched(0), ElementsAre(1, 2, 4));
    }
    EXPECT_EQ(update.row<double>(0, 1)[0], 1);
    EXPECT_TRUE(std::signbit(update.row<double>(0, 2)[1]));
  }
}

TEST(AllRows, GivesZerosForRowsThatAreAbsent) {
  exchange::Update update(
      exchange::UpdateShape{{.rows = 9, .width = 2, .sparse = true}, {.rows = 1}});
  update.touch<double>(0, 6)[1] = 3;
  update.touch<double>(0, 2)[0] = -4;
  update.settle();
  std::vector<double> scratch(100, 7.0);
  const std::span<const double> all = all_rows(update, 0, scratch);
  ASSERT_EQ(all.size(), 18U);
  for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(all[i], i == 13 ? 3 : i == 4 ? -4 : 0) << i;
}

TEST(AllRows, CopiesNothingWhereAllRowsAreThere) {
  exchange::Update update(exchange::UpdateShape{{.rows = 4, .width = 1, .sparse = true}});
  for (std::int64_t row = 0; row < 4; ++row) update.touch<double>(0, row)[0] = 1;
  update.settle();
  std::vector<double> scratch;
  EXPECT_EQ(all_rows(update, 0, scratch).data(), update.dense<double>(0).data());
  EXPECT_TRUE(scratch.empty());
}

}  // namespace
}  // namespace meanwhile::learn
