#include <gtest/gtest.h>

#include "meanwhile/data/files/readers.h"
#include "test/data/parsing.h"

namespace meanwhile::data {
namespace {

Rows<float> libsvm(const std::string& text, std::int64_t n_features = 0) {
  ReadOptions options;
  options.n_features = n_features;
  return parse<float>({text}, kLibsvmReader, options);
}

std::string error(const std::string& text) { return parse_error({text}, kLibsvmReader); }

TEST(Libsvm, ReadsRowsLabelsAndEmptyRows) {
  const auto rows = libsvm("+1 1:0.5 3:-2e1\n-1\n2.5 10:7\n");
  EXPECT_TRUE(rows.sparse);
  EXPECT_EQ(rows.rows, 3);
  EXPECT_EQ(rows.cols, 10);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 2, 9}));
  EXPECT_EQ(rows.values, (std::vector<float>{0.5f, -20.0f, 7.0f}));
  EXPECT_EQ(rows.labels, (std::vector<double>{1, -1, 2.5}));
}

TEST(Libsvm, SkipsCommentsQueryNumbersAndBlanks) {
  const auto rows =
      libsvm("# a file\n\n  \t\n1 qid:7 1:2 # the rest\n  0\t2:3  5:4#x\r\n#1 1:1\n1 # nothing\n");
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 1, 3, 3}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 1, 4}));
}

TEST(Libsvm, KeepsExplicitZerosAndHonoursTheNumberOfFeatures) {
  const auto rows = libsvm("1 2:0\n", 9);
  EXPECT_EQ(rows.cols, 9);
  EXPECT_EQ(rows.values, std::vector<float>{0});
  EXPECT_EQ(libsvm("1 12:0\n", 9).cols, 12);
}

TEST(Libsvm, NeedsNoFinalNewlineAndSkipsAByteOrderMark) {
  EXPECT_EQ(libsvm("1 1:1 2:2"), libsvm("1 1:1 2:2\n"));
  EXPECT_EQ(libsvm("\xef\xbb\xbf"
                   "1 1:1 2:2"),
            libsvm("1 1:1 2:2\n"));
  EXPECT_EQ(libsvm("1 1:1 2:2\r\n0 1:1\r\n"), libsvm("1 1:1 2:2\n0 1:1\n"));
}

TEST(Libsvm, TakesTheLargestIndexThatFits) {
  EXPECT_EQ(libsvm("1 123456789:1 2147483647:1\n").columns,
            (std::vector<std::int32_t>{123456788, 2147483646}));
  EXPECT_EQ(
      error("1 2147483648:1\n"),
      "file0: line 1, column 3: found '2147483648:1', expected an index of at most 2147483647");
  EXPECT_EQ(error("1 99999999999999999999999999:1\n").substr(0, 41),
            "file0: line 1, column 3: found '999999999");
}

// Pairs that end before, at and behind the sixteenth byte, in every shape of number.
TEST(Libsvm, PairsOfAnyLengthAreRead) {
  const std::string digits = "1234567890123456789";
  std::string text;
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  for (std::size_t index = 1; index <= 9; ++index) {
    for (std::size_t before = 0; before <= 10; ++before) {
      for (std::size_t after = 0; after <= 10; ++after) {
        if (before + after == 0) continue;
        for (const std::string sign : {"", "-", "+"}) {
          for (const std::string exponent : {"", "e2"}) {
            const std::string number = sign + digits.substr(0, before) + (after > 0 ? "." : "") +
                                       digits.substr(before, after) + exponent;
            text += "1 " + digits.substr(0, index) + ":" + number + "\n";
            columns.push_back(std::stoi(digits.substr(0, index)) - 1);
            values.push_back(std::stof(number));
          }
        }
      }
    }
  }
  const TemporaryFolder folder;
  write_text(folder / "a", text);
  const auto rows = rows_of<float>(parse_files({folder / "a"}, kLibsvmReader, {}, {4096, 2}));
  EXPECT_EQ(rows.columns, columns);
  EXPECT_EQ(rows.values, values);
}

TEST(Libsvm, RefusesIndicesThatAreNotFromOneUpwards) {
  EXPECT_EQ(error("1 1:1\n1 0:1\n"),
            "file0: line 2, column 3: found index 0, expected 1 or more: indices start at 1; if "
            "this is LDA-C, use `format` ldac");
  EXPECT_EQ(error("1 1:1\n\n# x\n1 1:1 -2:1\n"),
            "file0: line 4, column 7: found '-2:1', expected index:value; indices start at 1 and "
            "are not negative");
  EXPECT_EQ(error("1 3:1 2:1\n"),
            "file0: line 1, column 7: found index 2 after index 3, expected indices that increase "
            "strictly");
  EXPECT_EQ(
      error("1 3:1 3:1\n"),
      "file0: line 1, column 7: found index 3 twice, expected indices that increase strictly");
  EXPECT_EQ(error("1 x:1\n"), "file0: line 1, column 3: found 'x:1', expected index:value");
  EXPECT_EQ(error("1 2\n"), "file0: line 1, column 3: found '2', expected index:value");
  EXPECT_EQ(error("1 :2\n"), "file0: line 1, column 3: found ':2', expected index:value");
}

TEST(Libsvm, RefusesWhatIsNoFiniteNumber) {
  EXPECT_EQ(error("1 1:a\n"), "file0: line 1, column 5: found 'a', expected a number");
  EXPECT_EQ(error("1 1:1.5x\n"), "file0: line 1, column 5: found '1.5x', expected a number");
  EXPECT_EQ(error("1 1:\n"),
            "file0: line 1, column 5: found nothing, expected a number; remove or fill the row");
  EXPECT_EQ(error("1 1:nan\n"),
            "file0: line 1, column 5: found 'nan', which is not finite; remove or fill the row");
  EXPECT_EQ(error("1 1:-inf\n"),
            "file0: line 1, column 5: found '-inf', which is not finite; remove or fill the row");
  EXPECT_EQ(error("1 1:1e39\n"),
            "file0: line 1, column 5: found '1e39', which is too large for float32; use `dtype` "
            "float64");
  EXPECT_EQ(error("yes 1:1\n"),
            "file0: line 1, column 1: found 'yes', expected a number; a label must be a number");
  EXPECT_EQ(error("1:1 2:2\n"),
            "file0: line 1, column 1: found '1:1', expected a label before the first index:value");
}

TEST(Libsvm, QuotesLittleOfAnOffendingTextAndNoControlBytes) {
  EXPECT_EQ(error("1 1:\x01\xff\n"),
            "file0: line 1, column 5: found '\\x01\\xff', expected a number");
  const std::string message = error("1 1:" + std::string(500, 'z') + "\n");
  EXPECT_LT(message.size(), 120u);
  EXPECT_NE(message.find("zzz...'"), message.npos);
}

TEST(Libsvm, RefusesAFileWithoutRows) {
  EXPECT_EQ(error(""), "file0: has no rows");
  EXPECT_EQ(error("# nothing\n\n"), "file0: has no rows");
}

}  // namespace
}  // namespace meanwhile::data
