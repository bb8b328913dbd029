#include "meanwhile/tune/folds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "test/expect_error.h"
#include "test/learn/linear_data.h"

namespace meanwhile::tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Rows 0, 1, 2 ... of one column; every third has label 1.
data::Part numbered(std::int64_t rows, int shards = 4) {
  test::Labelled from;
  for (std::int64_t row = 0; row < rows; ++row) {
    from.x.push_back(static_cast<double>(row + 1));
    from.y.push_back(row % 3 == 0 ? 1 : 0);
  }
  return data::whole(test::dataset(from, test::Storage::kDense), shards, 1, 1);
}

std::vector<std::int64_t> rows_of(const data::Part& part) {
  std::vector<std::int64_t> rows;
  for (const data::Shard& shard : part.shards) {
    std::int64_t here = 0;
    for (const data::RowRange& block : shard.blocks) {
      EXPECT_LT(block.begin, block.end);
      for (std::int64_t row = block.begin; row < block.end; ++row) rows.push_back(row);
      here += block.end - block.begin;
    }
    EXPECT_EQ(here, shard.rows);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(Folds, EachRowIsHeldOutOnceAndLearnedFromOtherwise) {
  const data::Part part = numbered(1000);
  const Folds folds = deal_folds(part, {.folds = 5, .stratified = true, .seed = 3});
  ASSERT_EQ(folds.count, 5);
  std::vector<int> held(1000, 0);
  for (int fold = 0; fold < 5; ++fold) {
    const data::Part rest = outside(part, folds, fold);
    const data::Dataset out = inside(part, folds, fold);
    const auto& x = std::get<data::Dense<double>>(out.x);
    EXPECT_EQ(rest.rows, 800);
    EXPECT_EQ(x.rows, 200);
    std::set<std::int64_t> all;
    for (const std::int64_t row : rows_of(rest)) all.insert(row);
    double positive = 0;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      const auto row = static_cast<std::int64_t>(x.values[i]) - 1;
      EXPECT_TRUE(all.insert(row).second) << "row " << row << " is on both sides";
      EXPECT_EQ(out.labels[static_cast<std::size_t>(i)], row % 3 == 0 ? 1 : 0);
      positive += out.labels[static_cast<std::size_t>(i)];
      ++held[static_cast<std::size_t>(row)];
    }
    EXPECT_EQ(all.size(), 1000U);
    EXPECT_NEAR(positive, 334.0 / 5, 1);
  }
  for (const int times : held) EXPECT_EQ(times, 1);
}

TEST(Folds, NothingIsCopiedOfTheRowsToLearnFrom) {
  const data::Part part = numbered(100);
  const Folds folds = deal_folds(part, {.folds = 5, .seed = 3});
  const data::Part rest = outside(part, folds, 0);
  EXPECT_EQ(std::get<data::Dense<double>>(rest.data.x).values,
            std::get<data::Dense<double>>(part.data.x).values);
}

TEST(Folds, AFractionIsHeldOutOnce) {
  const data::Part part = numbered(100);
  const Folds folds =
      deal_folds(part, {.folds = 0, .test_fraction = 0.25, .stratified = true, .seed = 3});
  EXPECT_EQ(folds.count, 1);
  EXPECT_EQ(outside(part, folds, 0).rows, 75);
  EXPECT_EQ(data::rows(inside(part, folds, 0).x), 25);
}

TEST(Folds, SparseRowsAreCopiedWithTheirColumns) {
  test::Labelled from;
  from.cols = 3;
  from.x = {1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 5, 6};
  from.y = {0, 1, 0, 1};
  const data::Part part = data::whole(test::dataset(from), 2, 1, 1);
  const data::Dataset some = inside(part, {1, {-1, 0, -1, 0}}, 0);
  const auto& x = std::get<data::Sparse<double>>(some.x);
  EXPECT_EQ(x.rows, 2);
  EXPECT_EQ(x.row(0).columns.size(), 0U);
  EXPECT_THAT(x.row(1).columns, testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(x.row(1).values, testing::ElementsAre(4, 5, 6));
  EXPECT_THAT(some.labels, testing::ElementsAre(1, 1));
}

TEST(Folds, WhatCannotBeDividedIsAnError) {
  const data::Part part = numbered(9);
  EXPECT_THAT(usage_error_of([&] { deal_folds(part, {.folds = 1}); }), HasSubstr("from 2"));
  EXPECT_THAT(input_error_of([&] { deal_folds(part, {.folds = 10}); }), HasSubstr("9 rows"));
  EXPECT_THAT(usage_error_of([&] { deal_folds(part, {.folds = 0, .test_fraction = 1}); }),
              HasSubstr("below 1"));
  test::Labelled lonely;
  lonely.x = {1, 2, 3, 4};
  lonely.y = {0, 0, 0, 1};
  const data::Part one = data::whole(test::dataset(lonely), 2, 1, 1);
  EXPECT_THAT(input_error_of([&] { deal_folds(one, {.folds = 2, .stratified = true}); }),
              AllOf(HasSubstr("class 1"), HasSubstr("at least two")));
}

}  // namespace
}  // namespace meanwhile::tune
