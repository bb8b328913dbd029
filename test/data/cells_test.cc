// Parts of reading tables: cells that were seen before, means of columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/table/column_statistics.h"
#include "meanwhile/data/table/short_cells.h"

namespace meanwhile::data {
namespace {

TEST(ShortCells, EndAtDelimitersLineEndsAndQuotes) {
  const auto text = [](std::string_view cell, char delimiter = ',') {
    std::array<char, 32> bytes;
    bytes.fill('x');
    std::copy(cell.begin(), cell.end(), bytes.begin());
    return ShortText(bytes.data(), delimiter);
  };
  EXPECT_EQ(text("abc,").size, 3u);
  EXPECT_EQ(text("abc\n").size, 3u);
  EXPECT_EQ(text("abc\r\n").size, 3u);
  EXPECT_EQ(text("a\"").size, 1u);
  EXPECT_EQ(text(",").size, 0u);
  EXPECT_EQ(text("ab;", ';').size, 2u);
  EXPECT_EQ(text("").size, 32u);
  EXPECT_EQ(text(std::string(31, 'y') + ",").size, 31u);
  EXPECT_EQ(text("abc,yy").words, text("abc,zz").words);
  EXPECT_NE(text("abc,").words, text("abd,").words);
  EXPECT_NE(text("a,").words, text(std::string_view("a\0,", 3)).words);

  ShortCells<float> cells;
  EXPECT_EQ(cells.find(text("a,")), nullptr);
  for (int i = 0; i < 10000; ++i) {
    const auto key = text(std::to_string(i) + ",");
    if (cells.find(key) == nullptr) cells.add(key, static_cast<float>(i));
  }
  for (int i = 0; i < 4000; ++i) {
    const float* const found = cells.find(text(std::to_string(i) + ","));
    ASSERT_NE(found, nullptr) << i;
    EXPECT_EQ(*found, static_cast<float>(i));
  }
  cells.clear();
  EXPECT_EQ(cells.find(text("1,")), nullptr);
}

TEST(ColumnStatistics, MeansAreThoseOfExactSums) {
  const auto mean = [](const auto& values) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    const RowPieces<T> rows = {1, 1, [&](const auto& use) {
                                 const std::span<const T> all(values);
                                 use(all.first(all.size() / 3), 0);
                                 use(all.subspan(all.size() / 3), 0);
                               }};
    return column_means(rows, {0}, [](std::span<std::int64_t>) {}).front();
  };
  const float none = std::numeric_limits<float>::quiet_NaN();
  const auto some = mean(std::vector<float>{1.5f, none, -0.25f, 1e30f, 3, -1e30f, 0, none});
  EXPECT_EQ(some.count, 6);
  EXPECT_EQ(some.mean, (1.5 - 0.25 + 3) / 6);
  EXPECT_EQ(mean(std::vector<float>{none}).count, 0);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(mean(std::vector<float>{tiny, tiny, tiny * 4}).mean, 2.0 * tiny);
  EXPECT_EQ(mean(std::vector<double>{1e300, 1, -1e300, 2, 3, 6}).mean, 2);
  EXPECT_EQ(mean(std::vector<double>(1001, 0.1)).mean, 0.1);
}

}  // namespace
}  // namespace meanwhile::data
