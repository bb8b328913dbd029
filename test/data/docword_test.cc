#include <gtest/gtest.h>

#include "meanwhile/data/files/readers.h"
#include "test/data/parsing.h"

namespace meanwhile::data {
namespace {

Rows<float> docword(const std::string& text) { return parse<float>({text}, kDocwordReader); }
std::string error(const std::string& text) { return parse_error({text}, kDocwordReader); }

TEST(Docword, ReadsCountsAndLeavesEmptyDocumentsEmpty) {
  const auto rows = docword("6\n9\n5\n2 1 3\n2 4 1\n3 9 2\n5 1 1\n5 2 7\n");
  EXPECT_TRUE(rows.sparse);
  EXPECT_EQ(rows.rows, 6);
  EXPECT_EQ(rows.cols, 9);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 0, 2, 3, 3, 5, 5}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 3, 8, 0, 1}));
  EXPECT_EQ(rows.values, (std::vector<float>{3, 1, 2, 1, 7}));
  EXPECT_TRUE(rows.labels.empty());
}

TEST(Docword, SortsTheWordsOfADocument) {
  const auto rows = docword("2\r\n9\r\n4\r\n1 7 1\r\n1 2 2\r\n1 5 3\r\n2 1 1\r\n");
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{1, 4, 6, 0}));
  EXPECT_EQ(rows.values, (std::vector<float>{2, 3, 1, 1}));
}

TEST(Docword, SeveralFilesFollowEachOther) {
  const auto rows = parse<float>({"2\n3\n1\n1 3 1\n", "1\n5\n1\n1 2 4\n"}, kDocwordReader);
  EXPECT_EQ(rows.cols, 5);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 1, 1, 2}));
}

TEST(Docword, ManyDocumentsAcrossChunks) {
  std::string text;
  std::vector<std::int64_t> row_start = {0};
  std::int64_t entries = 0;
  for (int d = 1; d <= 200; ++d) {
    for (int w = 1; w <= d * 7 % 5; ++w, ++entries) {
      text += std::to_string(d) + " " + std::to_string(w) + " " + std::to_string(d) + "\n";
    }
    row_start.push_back(entries);
  }
  const auto rows = docword("200\n10\n" + std::to_string(entries) + "\n" + text);
  EXPECT_EQ(rows.row_start, row_start);
}

TEST(Docword, RefusesADamagedHeader) {
  EXPECT_EQ(error(""), "file0: has no rows");
  EXPECT_EQ(error("0\n5\n0\n"), "file0: has no rows");
  EXPECT_EQ(error("3\nx\n1\n1 1 1\n"),
            "file0: line 2, column 1: found 'x', expected the number of words alone on line 2");
  EXPECT_EQ(
      error("3\n4\n"),
      "file0: line 3, column 1: found nothing, expected the number of entries alone on line 3");
  EXPECT_EQ(
      error("3\n4\n1 1 1\n"),
      "file0: line 3, column 1: found '1 1 1', expected the number of entries alone on line 3");
  EXPECT_EQ(error("3\n5000000000\n1\n"),
            "file0: line 2, column 1: found 5000000000 words, expected at most 2147483647");
}

TEST(Docword, RefusesEntriesOutsideTheHeader) {
  EXPECT_EQ(error("3\n4\n1\n4 1 1\n"),
            "file0: line 4, column 1: found '4', expected a document of at most 3");
  EXPECT_EQ(error("3\n4\n1\n1 5 1\n"),
            "file0: line 4, column 3: found '5', expected a word of at most 4");
  EXPECT_EQ(error("3\n4\n1\n1 0 1\n"),
            "file0: line 4, column 3: found '0', expected a word (a whole number of at least 1)");
  EXPECT_EQ(error("3\n4\n1\n1 1 -1\n"),
            "file0: line 4, column 5: found '-1', expected a count (a whole number of at least 1)");
  EXPECT_EQ(error("3\n4\n1\n1 1\n"),
            "file0: line 4, column 4: found nothing, expected a count (a whole number of at least "
            "1)");
  EXPECT_EQ(error("3\n4\n1\n1 1 1 1\n"),
            "file0: line 4, column 7: found '1', expected the end of the line");
  EXPECT_EQ(error("3\n4\n2\n1 1 1\n"),
            "file0: found 1 entries, expected 2 as line 3 says; was the file cut short?");
}

TEST(Docword, RefusesWordsTwiceAndDocumentsOutOfOrder) {
  EXPECT_EQ(
      error("3\n4\n4\n1 1 1\n2 3 1\n2 1 1\n2 3 1\n"),
      "file0: line 5, column 1: found word 3 twice in document 2, which begins here; expected "
      "each word once, with the sum of its counts");
  EXPECT_EQ(error("9\n4\n3\n1 1 1\n3 1 1\n2 1 1\n"),
            "file0: line 6, column 1: found document 2 after document 3, expected documents in "
            "increasing order; sort the file");
}

TEST(Docword, ADamagedNumberDoesNotFillTheMemoryWithEmptyRows) {
  const std::string expected =
      "file0: found 900000000000 documents with only 1 entries, expected at least one for every "
      "1024; is the file damaged?";
  EXPECT_EQ(error("900000000000\n4\n1\n900000000000 1 1\n"), expected);
  EXPECT_EQ(error("900000000000\n4\n1\n1 1 1\n"), expected);
}

}  // namespace
}  // namespace meanwhile::data
