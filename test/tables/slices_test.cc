#include "meanwhile/tables/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace meanwhile::tables {
namespace {

std::vector<Table> some_tables() {
  std::vector<Table> tables;
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 255, 1000, 4097, 70'000}) {
    tables.push_back({.name = "t", .rows = rows, .width = 8});
    tables.push_back({.name = "s", .rows = rows, .width = 4000, .sparse = true});
    tables.push_back({.name = "d", .rows = rows, .width = 300, .number = Number::kFloat64});
  }
  return tables;
}

TEST(Slices, HoldEveryRowOnceAndInOrder) {
  for (const Table& table : some_tables()) {
    const Slices slices(table);
    std::int64_t rows = 0;
    for (int slice = 0; slice < slices.count(); ++slice) {
      const std::int64_t held = slices.rows_of(slice);
      rows += held;
      std::int64_t before = -1;
      for (std::int64_t place = 0; place < held; ++place) {
        const std::int64_t row = slices.row_at(slice, place);
        ASSERT_GT(row, before);
        ASSERT_LT(row, table.rows);
        ASSERT_EQ(slices.slice_of(row), slice);
        ASSERT_EQ(slices.place_of(row), place);
        before = row;
      }
    }
    EXPECT_EQ(rows, table.rows);
  }
}

// Words are mostly numbered by how frequent they are: no slice may have two of the first blocks.
TEST(Slices, DifferByABlockAndSpreadTheHeadOfATable) {
  for (const Table& table : some_tables()) {
    const Slices slices(table);
    std::int64_t least = table.rows, most = 0;
    for (int slice = 0; slice < slices.count(); ++slice) {
      least = std::min(least, slices.rows_of(slice));
      most = std::max(most, slices.rows_of(slice));
    }
    EXPECT_LE(most - least, slices.block_rows());
    std::vector<int> blocks(static_cast<std::size_t>(slices.count()), 0);
    for (int block = 0; block < slices.count(); ++block) {
      const std::int64_t row = block * slices.block_rows();
      if (row < table.rows) ++blocks[static_cast<std::size_t>(slices.slice_of(row))];
    }
    EXPECT_LE(*std::max_element(blocks.begin(), blocks.end()), 1);
  }
}

TEST(Slices, HaveOneOwnerEachForAnyNumberOfWorkers) {
  for (const Table& table : some_tables()) {
    const Slices slices(table);
    for (const int workers : {1, 2, 3, 5, 8, 17, 64}) {
      for (int worker = 0; worker < workers; ++worker) {
        const exchange::Range own = slices.owned(worker, workers);
        for (int slice = own.begin; slice < own.end; ++slice) {
          ASSERT_EQ(slices.owner_of(slice, workers), worker);
        }
      }
      EXPECT_EQ(slices.owned(workers - 1, workers).end, slices.count());
    }
  }
}

TEST(Slices, AreOfAboutAMebibyte) {
  const Slices slices({.name = "t", .rows = 1 << 20, .width = 32});
  EXPECT_EQ(slices.count(), 256);
  EXPECT_EQ(slices.rows_of(7), 1 << 12);
}

TEST(Slices, RowsThatNearlyAllShardsWantAreReplicated) {
  EXPECT_TRUE(is_replicated(6, 8));
  EXPECT_FALSE(is_replicated(5, 8));
  EXPECT_FALSE(is_replicated(1, 1));
}

}  // namespace
}  // namespace meanwhile::tables
