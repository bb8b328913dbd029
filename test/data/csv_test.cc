#include <gtest/gtest.h>

#include "meanwhile/data/files/readers.h"
#include "test/data/parsing.h"

namespace meanwhile::data {
namespace {

using base::ErrorKind;

ReadOptions columns(const std::string& label, const std::string& weight = "",
                    std::vector<std::string> ignored = {}) {
  ReadOptions options;
  options.label_column = label;
  options.weight_column = weight;
  options.ignore_columns = std::move(ignored);
  return options;
}

Rows<float> csv(const std::string& text, const ReadOptions& options = {}) {
  return parse<float>({text}, kCsvReader, options);
}

std::string error(const std::string& text, const ReadOptions& options = {},
                  ErrorKind kind = ErrorKind::kInput) {
  return parse_error({text}, kCsvReader, options, kind);
}

TEST(Csv, ReadsNumbersWithAndWithoutHeader) {
  const auto bare = csv("1,2,3\n4,5,6.5\n");
  EXPECT_FALSE(bare.sparse);
  EXPECT_EQ(bare.rows, 2);
  EXPECT_EQ(bare.cols, 3);
  EXPECT_EQ(bare.values, (std::vector<float>{1, 2, 3, 4, 5, 6.5f}));
  EXPECT_TRUE(bare.feature_names.empty());
  const auto headed = csv("a,b,\"c, d\"\n1,2,3\n4,5,6.5\n");
  EXPECT_EQ(headed.values, bare.values);
  EXPECT_EQ(headed.feature_names, (std::vector<std::string>{"a", "b", "c, d"}));
}

TEST(Csv, HeaderCanBeForcedEitherWay) {
  ReadOptions options;
  options.header = true;
  EXPECT_EQ(csv("1,2\n3,4\n", options).feature_names, (std::vector<std::string>{"1", "2"}));
  options.header = false;
  EXPECT_EQ(error("a,b\n3,4\n", options),
            "file0: line 1, field 1 (column 0): found 'a', expected a number; use `categorical` 0, "
            "`ignore_column` 0 or `label_column` 0");
}

TEST(Csv, FindsTheDelimiter) {
  const std::vector<float> values = {1, 2, 3, 4};
  for (const char* text :
       {"1,2\n3,4\n", "1\t2\n3\t4\n", "1;2\n3;4\n", "1 2\n3 4\n", "  1   2 \n3 \t 4\n",
        " 1 , 2 \r\n 3 ,4\r\n", "\"1\",\"2\"\n\"3\",4\n"}) {
    EXPECT_EQ(csv(text).values, values) << text;
    EXPECT_EQ(csv(text).cols, 2) << text;
  }
  ReadOptions options;
  options.delimiter = '|';
  EXPECT_EQ(csv("1|2\n3|4\n", options).values, values);
  options.delimiter = '5';
  EXPECT_EQ(error("1|2\n", options, ErrorKind::kUsage),
            "file0: delimiter: found a digit, expected a character that separates numbers");
}

TEST(Csv, ADelimiterBetweenQuotesSeparatesNothing) {
  EXPECT_EQ(csv("\"a, b\";c\n1;2\n").feature_names, (std::vector<std::string>{"a, b", "c"}));
}

TEST(Csv, SkipsEmptyLinesAndComments) {
  EXPECT_EQ(csv("# a \"file\n\n1,2\n  \n#x,y\n3,4\n\n").values, (std::vector<float>{1, 2, 3, 4}));
}

TEST(Csv, NeedsNoFinalNewlineAndSkipsAByteOrderMark) {
  EXPECT_EQ(csv("x,y\n1,2\n3,4"), csv("x,y\n1,2\n3,4\n"));
  EXPECT_EQ(csv("\xef\xbb\xbfx,y\n1,2\n3,4"), csv("x,y\r\n1,2\r\n3,4\r\n"));
}

TEST(Csv, TakesLabelsWeightsAndIgnoredColumnsByNameOrNumber) {
  const std::string text = "id,x,w,y,z\nq,1,0.5,7,2\nr,3,0,8,4\n";
  for (const ReadOptions& options :
       {columns("y", "w", {"id"}), columns("3", "2", {"0"}), columns("-2", "-3", {"-5"})}) {
    const auto rows = csv(text, options);
    EXPECT_EQ(rows.values, (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(rows.labels, (std::vector<double>{7, 8}));
    EXPECT_EQ(rows.weights, (std::vector<double>{0.5, 0}));
    EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"x", "z"}));
    EXPECT_TRUE(rows.class_names.empty());
  }
}

TEST(Csv, NumbersWordsInOrderOfFirstAppearance) {
  std::string text;
  std::vector<double> labels;
  const char* const words[] = {"rose", "\"tulip, red\"", "\"say \"\"lily\"\"\"", "rose "};
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + "," + words[i * i % 4 == 0 ? 0 : i % 4] + "\n";
    labels.push_back(i * i % 4 == 0 || i % 4 == 3 ? 0 : i % 4);
  }
  const auto rows = csv(text, columns("-1"));
  EXPECT_EQ(rows.class_names, (std::vector<std::string>{"rose", "tulip, red"}));
  EXPECT_EQ(rows.labels, labels);
  EXPECT_EQ(rows.rows, 40);  // the first line is no header: only its label is a word
  EXPECT_EQ(csv("1,c\n2,a\n3,b\n4,a\n", columns("1")).class_names,
            (std::vector<std::string>{"c", "a", "b"}));
}

TEST(Csv, AWordAboveNumbersInTheLabelColumnIsAHeader) {
  EXPECT_EQ(csv("0,1,label\n1,2,0\n", columns("-1")).rows, 1);
}

TEST(Csv, QuotedFieldsMayHoldLineEndsAcrossChunks) {
  std::string text = "x,note,y\n";
  for (int i = 0; i < 30; ++i) {
    text += std::to_string(i) + ",\"line one\nline \"\"two\"\", with 3,4\n\n# five\"," +
            std::to_string(2 * i) + "\n";
  }
  const auto rows = csv(text, columns("", "", {"note"}));
  ASSERT_EQ(rows.rows, 30);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(rows.values[2 * i], static_cast<float>(i));
    EXPECT_EQ(rows.values[2 * i + 1], static_cast<float>(2 * i));
  }
  // Line ends between quotes count: the bad line is the last, 30 records of four lines below.
  EXPECT_EQ(error(text + "1,a,b\n", columns("", "", {"note"})),
            "file0: line 122, field 3 (y): found 'b', expected a number; use "
            "`categorical` y, `ignore_column` y or `label_column` y");
}

TEST(Csv, SaysWhichLineIsRagged) {
  EXPECT_EQ(error("1,2,3\n4,5,6\n7,8\n"),
            "file0: line 3, column 1: found 2 fields, expected 3 as in the first line");
  EXPECT_EQ(error("a,b\n1,2\n1,2,3,4\n"),
            "file0: line 3, column 1: found 4 fields, expected 2 as in the first line");
  EXPECT_EQ(error("1 2\n1 2 3\n"),
            "file0: line 2, column 1: found 3 fields, expected 2 as in the first line");
  EXPECT_EQ(error("1,2\n1,2,\n"),
            "file0: line 2, column 1: found 3 fields, expected 2 as in the first line");
}

TEST(Csv, RefusesWhatIsNoFiniteNumber) {
  EXPECT_EQ(error("a,b\n1,2\n3,cat\n"),
            "file0: line 3, field 2 (b): found 'cat', expected a number; use "
            "`categorical` b, `ignore_column` b or `label_column` b");
  EXPECT_EQ(error("1,2\n3,4x\n"),
            "file0: line 2, field 2 (column 1): found '4x', expected a number; use "
            "`categorical` 1, `ignore_column` 1 or `label_column` 1");
  EXPECT_EQ(error("1,2\n3,4 5\n"),
            "file0: line 2, field 2 (column 1): found '4 5', expected a number; use "
            "`categorical` 1, `ignore_column` 1 or `label_column` 1");
  EXPECT_EQ(error("1,2\n3,\n"),
            "file0: values are missing in 1 of 2 columns: 1 (1), the first in row 1 (counted from "
            "0); use `missing` drop, mean, median or indicator, or `ignore_column`");
  EXPECT_EQ(error("1,2\n\"inf\",3\n"),
            "file0: line 2, field 1 (column 0): found 'inf', which is not finite; remove or fill "
            "the row");
  EXPECT_EQ(error("1,2\n1e400,3\n"),
            "file0: line 2, field 1 (column 0): found '1e400', which is not finite; remove or "
            "fill the row");
}

TEST(Csv, RefusesBadWeightsAndLabels) {
  EXPECT_EQ(error("1,2\n1,-0.5\n", columns("", "1")),
            "file0: line 2, field 2 (column 1): found the weight -0.5, expected 0 or more");
  EXPECT_EQ(
      error("1,2\n1,x\n", columns("", "1")),
      "file0: line 2, field 2 (column 1): found 'x', expected a number; a weight must be one");
  EXPECT_EQ(error("1,2\n1,x\n", columns("1")),
            "file0: line 2, field 2 (column 1): found 'x', expected a number; the labels "
            "before it are numbers, so all must be");
  EXPECT_EQ(error("1,a\n1,\n", columns("1")),
            "file0: the label is missing in 1 of 2 rows, the first is row 1 (counted from 0); use "
            "`missing` drop to leave such rows out");
  EXPECT_EQ(error("1,a\n1,\xe9\n", columns("1")),
            "file0: line 2, field 2 (column 1): found the label '\\xe9', expected UTF-8");
}

TEST(Csv, RefusesStrayQuotes) {
  EXPECT_EQ(
      error("1,2\n3,\"4\n"),
      "file0: line 2, column 3: found a quote that is never closed, expected a closing quote");
  EXPECT_EQ(error("1,2\n3,\"4\"5\n"),
            "file0: line 2, column 6: found '5' after a closing quote, expected a delimiter");
  EXPECT_EQ(error("1,2,a\n3,4,5\" pipe\n6,7,b\n", columns("2")),
            "file0: line 2, column 6: found a quote inside a field, expected it at the start; put "
            "the field in quotes and double the quotes inside");
}

TEST(Csv, NamesTheKnownColumnsWhenOneIsUnknown) {
  EXPECT_EQ(error("a,b\n1,2\n", columns("c"), ErrorKind::kUsage),
            "file0: `label_column` c: no such column; known are a, b");
  EXPECT_EQ(error("1,2\n", columns("2"), ErrorKind::kUsage),
            "file0: `label_column` 2: the file has 2 columns: 0 to 1 or -2 to -1");
  EXPECT_EQ(error("a,b\n1,2\n", columns("-3"), ErrorKind::kUsage),
            "file0: `label_column` -3: the file has 2 columns: 0 to 1 or -2 to -1");
  EXPECT_EQ(error("a,b\n1,2\n", columns("a", "a"), ErrorKind::kUsage),
            "file0: `weight_column` a: the column has another use already");
  EXPECT_EQ(error("a,a\n1,2\n", columns("a"), ErrorKind::kUsage),
            "file0: `label_column` a: 2 columns have that name; give a number from 0");
  EXPECT_EQ(error("a,b\n1,2\n", columns("a", "", {"b"}), ErrorKind::kUsage),
            "file0: no column is left for the features");
}

TEST(Csv, SeveralFilesMayRepeatTheHeader) {
  const auto rows = parse<float>({"x,y\n1,2\n", "x,y\n3,4", "5,6\n"}, kCsvReader);
  EXPECT_EQ(rows.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(parse_error({"x,y\n1,2\n", "x,z\n3,4"}, kCsvReader),
            "file1: its columns are not those of file0: lacks 1 of 2 columns that are needed: y; "
            "it has x, z");
  EXPECT_EQ(parse<float>({"x,y\n1,2\n", "y,x\n4,3\n"}, kCsvReader).values,
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(parse_error({"x,y\n1,2\n", "3,4,5\n"}, kCsvReader),
            "file1: its columns are not those of file0: found 3 columns, expected 2; is one of "
            "them a label (`label_column`) or to be ignored (`ignore_column`)?");
  EXPECT_EQ(parse_error({"1,2\n3,4\n", "5,6\n7,x\n"}, kCsvReader).substr(0, 47),
            "file1: line 2, field 2 (column 1): found 'x', e");
}

TEST(Csv, RefusesAFileWithoutRows) {
  EXPECT_EQ(error(""), "file0: has no rows");
  EXPECT_EQ(error("# nothing\n\n\n"), "file0: has no rows");
  EXPECT_EQ(error("a,b\n"), "file0: has no rows");
  EXPECT_EQ(parse_error({"1,2\n", ""}, kCsvReader), "file1: has no rows");
}

TEST(Csv, ALineMayBeLongerThanAChunkButNotWithoutLimit) {
  std::string line = "1";
  for (int i = 0; i < 100000; ++i) line += ",2";
  EXPECT_EQ(csv(line + "\n" + line + "\n").cols, 100001);
  // The limit in these tests is 1 MiB.
  EXPECT_EQ(
      error("1,2\n" + std::string(5 << 20, '3')),
      "file0: line 2, column 1: found a record of more than 1048576 bytes, expected a shorter "
      "one; is this a text file, and is every quote closed?");
}

}  // namespace
}  // namespace meanwhile::data
