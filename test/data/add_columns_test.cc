#include "meanwhile/data/files/add_columns.h"

#include <gtest/gtest.h>

#include <random>

#include "meanwhile/data/files/read_parts.h"
#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using Keep = AddColumns::Keep;

// Answers that tell whether values stay with their rows: twice the column x.
class AddColumnsTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    return folder_ / name;
  }
  std::string added(const std::vector<std::filesystem::path>& paths) {
    ReadOptions options;
    options.threads = 3;
    options.dtype = DType::kFloat64;
    options.schema = std::make_shared<const TableSchema>(schema_);
    options.want_labels = false;
    options.incomplete = Incomplete::kKeep;
    columns_.names = {"double"};
    columns_.make = [](const Dataset& rows) {
      const auto& x = std::get<Dense<double>>(rows.x);
      NewValues made;
      for (std::int64_t i = 0; i < x.rows; ++i) made.values.push_back(2 * x.row(i)[0]);
      for (const std::int64_t row : rows.incomplete) {
        made.values[static_cast<std::size_t>(row)] = std::numeric_limits<double>::quiet_NaN();
      }
      return made;
    };
    std::string text;
    columns_.write = [&](std::string_view more) { text += more; };
    result_ = add_columns(find_checked_inputs(paths, options), options, columns_);
    return text;
  }

  TemporaryFolder folder_;
  TableSchema schema_{{Column{"x"}}};
  AddColumns columns_;
  AddedColumns result_;
};

// A cell of any text, as somebody may have written it: its bytes are what must come out.
std::string drawn_cell(std::mt19937& draw) {
  static const std::vector<std::string> kCells = {"007",
                                                  "",
                                                  "1e5",
                                                  "  blanks  ",
                                                  "\"a \"\"quoted\"\" word\"",
                                                  "\"two\nlines\"",
                                                  "\"two\r\nlines\"",
                                                  "\"a, b\"",
                                                  "\"#no comment\"",
                                                  "naïve",
                                                  "日本語",
                                                  "🙂",
                                                  "NA",
                                                  "-",
                                                  "'",
                                                  "\"\"",
                                                  "0.10",
                                                  "+3",
                                                  "a;b",
                                                  "\"\n\""};
  return kCells[draw() % kCells.size()];
}

TEST_F(AddColumnsTest, RecordsAreCopiedByteForByte) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 draw(seed);
    const std::string line_end = draw() % 2 == 0 ? "\n" : "\r\n";
    const std::size_t x_at = draw() % 4;
    std::string text = draw() % 2 == 0 ? "\xef\xbb\xbf" : "", expected;
    std::vector<std::string> header = {"a", "\"b, c\"", "d"};
    header.insert(header.begin() + static_cast<std::ptrdiff_t>(x_at), "x");
    const std::string names =
        fmt::format("{},{},{},{}", header[0], header[1], header[2], header[3]);
    expected = text + names + ",double" + line_end;
    text += names + line_end;
    // The last seeds give files of many chunks.
    const int rows = seed < 38 ? 50 : 60'000;
    for (int i = 0; i < rows; ++i) {
      if (draw() % 20 == 0) {
        const std::string between = draw() % 2 == 0 ? line_end : "# \"a comment" + line_end;
        text += between;
        expected += between;
      }
      std::vector<std::string> cells = {drawn_cell(draw), drawn_cell(draw), drawn_cell(draw)};
      cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(x_at), fmt::format("{}", i));
      const std::string record = fmt::format("{},{},{},{}", cells[0], cells[1], cells[2], cells[3]);
      const bool last = i + 1 == rows && draw() % 2 == 0;  // without a line end
      text += record + (last ? "" : line_end);
      expected += record + fmt::format(",{}", 2 * i) + (last ? "\n" : line_end);
    }
    const std::string found = added({file("t.csv", text)});
    ASSERT_TRUE(found == expected) << "seed " << seed << "\n"
                                   << text.substr(0, 400) << "\n->\n"
                                   << found.substr(0, 400);
    EXPECT_EQ(result_.rows, rows);
    EXPECT_EQ(result_.kept, 4u);
  }
}

TEST_F(AddColumnsTest, TheRowsOfAllFilesUnderOneHeader) {
  const auto a = file("a.csv.gz", gzip("id,x\n007,1\n")),
             b = file("b.csv.zst", zstd("id,x\n008,2"));
  EXPECT_EQ(added({a, b}), "id,x,double\n007,1,2\n008,2,4\n");
}

TEST_F(AddColumnsTest, FilesOfOtherColumnsAreRefused) {
  const auto a = file("a.csv", "id,x\n1,1\n"), b = file("b.csv", "x,id\n2,2\n");
  EXPECT_THAT(input_error_of([&] {
                added({a, b});
              }),
              testing::AllOf(testing::HasSubstr("b.csv"), testing::HasSubstr("the same order")));
}

TEST_F(AddColumnsTest, NamedFieldsAloneByteForByte) {
  columns_.keep = Keep::kFields;
  columns_.fields = {"id", "when"};
  const auto a = file("a.csv", "when,x,id,x2\r\n\"1, 2\",1,007,a\r\n,2, \"q\"\"\" ,b\r\n");
  EXPECT_EQ(added({a}), "id,when,double\n007,\"1, 2\",2\n \"q\"\"\" ,,4\n");
  EXPECT_EQ(result_.kept, 2u);
}

TEST_F(AddColumnsTest, AFieldThatWouldBeginACommentIsQuoted) {
  columns_.keep = Keep::kFields;
  columns_.fields = {"id"};
  EXPECT_EQ(added({file("a.csv", "x,id\n1,#5\n")}), "id,double\n\"#5\",2\n");
}

TEST_F(AddColumnsTest, NewColumnsAlone) {
  columns_.keep = Keep::kNothing;
  EXPECT_EQ(added({file("a.csv", "x,y\n1,2\n,3\n5,6\n")}), "double\n2\n\"\"\n10\n");
  EXPECT_THAT(result_.notes, testing::ElementsAre(testing::HasSubstr("1 row lacks a value")));
}

TEST_F(AddColumnsTest, AFileWithoutAHeaderStaysWithout) {
  EXPECT_EQ(added({file("a.tsv", "1\n2\n")}), "1\t2\n2\t4\n");
  EXPECT_FALSE(result_.has_header);
}

TEST_F(AddColumnsTest, RunsOfBlanksAreCopied) {
  schema_.columns = {Column{"x"}, Column{.name = "y", .role = ColumnRole::kIgnored}};
  EXPECT_EQ(added({file("a.csv", "x y\n1   2\n  3 4\n")}), "x y double\n1   2 2\n  3 4 6\n");
}

TEST_F(AddColumnsTest, ANameThatIsTakenIsAnError) {
  EXPECT_THAT(usage_error_of([&] { added({file("a.csv", "x,double\n1,2\n")}); }),
              testing::AllOf(testing::HasSubstr("a column named double already"),
                             testing::HasSubstr("`prefix`")));
}

TEST_F(AddColumnsTest, AnErrorSaysWhereItIs) {
  std::string text = "x\n";
  for (int i = 0; i < 500'000; ++i) text += fmt::format("{}\n", i);
  EXPECT_THAT(input_error_of([&] { added({file("a.csv", text + "word\n1\n")}); }),
              testing::HasSubstr("a.csv: line 500002, field 1 (x): found 'word'"));
}

}  // namespace
}  // namespace meanwhile::data
