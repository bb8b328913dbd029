#include <gtest/gtest.h>

#include "meanwhile/data/files/readers.h"
#include "test/data/parsing.h"

namespace meanwhile::data {
namespace {

std::string error(const std::string& text) { return parse_error({text}, kLdacReader); }

TEST(Ldac, ReadsCountsOfWordsFromZeroInAnyOrder) {
  const auto rows = parse<float>({"3 5:1 0:2 3:4\n0\n\n1  7:12 \r\n", "1 0:1"}, kLdacReader);
  EXPECT_TRUE(rows.sparse);
  EXPECT_EQ(rows.cols, 8);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 3, 3, 4, 5}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 3, 5, 7, 0}));
  EXPECT_EQ(rows.values, (std::vector<float>{2, 4, 1, 12, 1}));
  EXPECT_TRUE(rows.labels.empty());
  ReadOptions wide;
  wide.n_features = 20;
  EXPECT_EQ(parse<float>({"1 0:1\n"}, kLdacReader, wide).cols, 20);
}

TEST(Ldac, RefusesWhatIsNot) {
  EXPECT_EQ(
      error("2 0:1\n"),
      "file0: line 1, column 1: found 1 words, expected 2 as the first number of the line says");
  EXPECT_EQ(error("1 0:1\n2 4:1 4:2\n"),
            "file0: line 2, column 1: found word 4 twice in this line, expected each once");
  for (const char* pair : {"0", "0:", "0:0", "0:1.5", "-1:1", "x:1", "0:1x", "2147483647:1",
                           "0:99999999999999999999"}) {
    EXPECT_EQ(error(std::string("1 ") + pair + "\n"),
              std::string("file0: line 1, column 3: found '") + pair +
                  "', expected word:count (whole numbers, words from 0, counts from 1)");
  }
  EXPECT_EQ(error("x 0:1\n"),
            "file0: line 1, column 1: found 'x', expected the number of words that follow");
  EXPECT_EQ(error("\n"), "file0: has no rows");
}

}  // namespace
}  // namespace meanwhile::data
