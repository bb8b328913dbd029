#include "meanwhile/data/text/parse_text.h"

#include <gtest/gtest.h>

#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

std::string csv_lines(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += std::to_string(i) + ",0.5\n";
  return text;
}

TEST(ParseText, RowsKeepTheOrderOfManyChunksAndFiles) {
  const auto rows =
      parse<double>({csv_lines(0, 999), csv_lines(1000, 1000), csv_lines(1001, 1500)}, kCsvReader);
  ASSERT_EQ(rows.rows, 1501);
  for (std::size_t i = 0; i <= 1500; ++i) {
    ASSERT_EQ(rows.values[2 * i], static_cast<double>(i));
    ASSERT_EQ(rows.values[2 * i + 1], 0.5);
  }
}

TEST(ParseText, OfSeveralErrorsTheFirstIsThrownHoweverManyThreads) {
  // Long chunks before the first error and short ones behind it, so that later errors are found
  // sooner.
  const std::string text = csv_lines(1, 300) + "x,1\n" + csv_lines(302, 400) + "1,y\n1\n";
  EXPECT_EQ(parse_error({text, "1,z\n"}, kCsvReader).substr(0, 46),
            "file0: line 301, field 1 (column 0): found 'x'");
  EXPECT_EQ(
      parse_error({csv_lines(1, 400), csv_lines(1, 77) + "1,z\n", "3\n"}, kCsvReader).substr(0, 45),
      "file1: line 78, field 2 (column 1): found 'z'");
}

TEST(ParseText, ABadLineBeforeTheCutOfACompressedFileIsReportedFirst) {
  const TemporaryFolder folder;
  std::string text;
  for (std::int64_t i = 0; i < 100000; ++i) text += std::to_string(i * 104729 % 1000003) + ",0.5\n";
  for (const bool bad : {false, true}) {
    if (bad) text.insert(text.find('\n', 300000) + 1, "1,bad\n");
    const std::string compressed = gzip(text);
    write_text(folder / "a.csv.gz", compressed.substr(0, compressed.size() - 100));
    for (const Way& way : {Way{1 << 20, 1}, Way{1 << 16, 2}, Way{4096, 4}}) {
      const std::string message =
          input_error_of([&] { parse_files({folder / "a.csv.gz"}, kCsvReader, {}, way); });
      EXPECT_NE(message.find(bad ? "found 'bad'" : "the file was cut short"), message.npos)
          << message;
    }
  }
}

TEST(ParseText, AMissingFileIsReportedInItsTurn) {
  const TemporaryFolder folder;
  write_text(folder / "a", "1,2\n");
  write_text(folder / "bad", "1,2\n1,x\n");
  const auto error = [&](const std::vector<std::filesystem::path>& paths) {
    return input_error_of([&] { parse_files(paths, kCsvReader, {}, {16, 4}); });
  };
  EXPECT_EQ(error({folder / "a", folder / "none", folder / "bad"}),
            (folder / "none").string() + ": No such file or directory");
  EXPECT_NE(error({folder / "bad", folder / "none"}).find("found 'x'"), std::string::npos);
}

}  // namespace
}  // namespace meanwhile::data
