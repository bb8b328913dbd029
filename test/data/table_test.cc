// Tables of words, dates and missing values: how cells are read, what schema is fitted, how rows
// are encoded, and how a model's columns are found again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/data/files/convert.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/table/cell.h"
#include "test/data/parsing.h"

namespace meanwhile::data {
namespace {

using base::ErrorKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::vector<std::string>;

Dataset table(const std::string& text, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", text);
  return read({folder / "a.csv"}, options);
}

Rows<float> csv(const std::string& text, const ReadOptions& options = {}) {
  return parse<float>({text}, kCsvReader, options);
}

std::string error(const std::string& text, const ReadOptions& options = {},
                  ErrorKind kind = ErrorKind::kInput) {
  return parse_error({text}, kCsvReader, options, kind);
}

ReadOptions with(Missing missing, const std::string& label = "") {
  ReadOptions options;
  options.missing = missing;
  options.label_column = label;
  return options;
}

// The row in dense form.
std::vector<float> row(const Rows<float>& rows, std::int64_t i) {
  const auto cols = static_cast<std::size_t>(rows.cols), at = static_cast<std::size_t>(i);
  if (!rows.sparse) {
    return {rows.values.begin() + static_cast<std::ptrdiff_t>(at * cols),
            rows.values.begin() + static_cast<std::ptrdiff_t>((at + 1) * cols)};
  }
  std::vector<float> values(cols);
  for (auto k = static_cast<std::size_t>(rows.row_start[at]);
       k < static_cast<std::size_t>(rows.row_start[at + 1]); ++k) {
    values[static_cast<std::size_t>(rows.columns[k])] = rows.values[k];
  }
  return values;
}

TEST(Cell, MissingBooleansAndDates) {
  for (const char* cell : {"", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "?"}) {
    EXPECT_TRUE(is_missing(cell)) << cell;
  }
  for (const char* cell : {"0", "-", "none", "nana", "n/", "??", " "}) {
    EXPECT_FALSE(is_missing(cell)) << cell;
  }
  EXPECT_EQ(parse_boolean("TRUE"), 1);
  EXPECT_EQ(parse_boolean("no"), 0);
  EXPECT_EQ(parse_boolean("on"), std::nullopt);
  EXPECT_EQ(parse_date("1970-01-01"), 0);
  EXPECT_EQ(parse_date("2024-02-29"), 19782);
  EXPECT_EQ(parse_date("1970-01-02T12:00"), 1.5);
  EXPECT_EQ(parse_date("1970-01-01 06:00:00.000Z"), 0.25);
  EXPECT_EQ(parse_date("1970-01-01T06:00:00+06:00"), 0);
  EXPECT_EQ(parse_date("1969-12-31"), -1);
  for (const char* cell : {"2023-02-29", "2024-13-01", "24-01-01", "2024-01-01x", "2024/01/01",
                           "2024-01-01T25:00", "2024-01-01T", ""}) {
    EXPECT_EQ(parse_date(cell), std::nullopt) << cell;
  }
}

TEST(Table, WordsBecomeIndicators) {
  const auto rows = csv("size,cut,n\n1.5,fair,7\n2,ideal,0\n3,fair,8\n0,\"good, very\",9\n");
  EXPECT_FALSE(rows.sparse);
  EXPECT_EQ(rows.feature_names, (Names{"size", "cut=fair", "cut=good, very", "cut=ideal", "n"}));
  EXPECT_THAT(row(rows, 0), ElementsAre(1.5f, 1, 0, 0, 7));
  EXPECT_THAT(row(rows, 1), ElementsAre(2, 0, 0, 1, 0));
  EXPECT_THAT(row(rows, 3), ElementsAre(0, 0, 1, 0, 9));
}

TEST(Table, ManyIndicatorsAreSparse) {
  // Eight columns of three features: more than twice as many.
  const auto rows = csv("size,cut,n\n1.5,a,7\n2,b,0\n3,a,8\n0,c,9\n1,d,2\n1,e,2\n1,f,2\n");
  EXPECT_TRUE(rows.sparse);
  EXPECT_EQ(rows.cols, 8);
  EXPECT_THAT(row(rows, 0), ElementsAre(1.5f, 1, 0, 0, 0, 0, 0, 7));
  EXPECT_THAT(row(rows, 1), ElementsAre(2, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(row(rows, 6), ElementsAre(1, 0, 0, 0, 0, 0, 1, 2));
  // Zeros are not stored.
  EXPECT_EQ(rows.values.size(), 3 * 7 - 2);
}

TEST(Table, CellsOfAllLengthsAreTheirLevels) {
  // Some are short enough to be remembered, some differ in their last byte, some end in blanks.
  std::string text = "w,x\n";
  std::vector<std::string> words;
  for (std::size_t size = 1; size <= 40; ++size) {
    words.push_back(std::string(size - 1, 'a') + 'b');
    words.push_back(std::string(size - 1, 'a') + 'c');
  }
  for (int round = 0; round < 3; ++round) {
    for (const std::string& word : words) text += word + (round == 1 ? "  " : "") + ",1\n";
    text += round == 2 ? "\"b\",1\r\n" : "b,1\r\n";
  }
  const auto rows = csv(text);
  std::sort(words.begin(), words.end());
  ASSERT_EQ(rows.feature_names.size(), words.size() + 1);
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(rows.feature_names[i], "w=" + words[i]);
  for (std::int64_t i = 0; i < 81; ++i) {
    EXPECT_EQ(row(rows, i), row(rows, i + 81)) << i;
    EXPECT_EQ(row(rows, i), row(rows, i + 162)) << i;
  }
}

TEST(Table, LevelsPastTheLimitBecomeOne) {
  ReadOptions options;
  options.max_levels = 2;
  const std::string text = "w\nb\na\nc\nc\nd\n";
  const auto rows = csv(text, options);
  // c occurs twice; a comes before b and d by its bytes.
  EXPECT_EQ(rows.feature_names, (Names{"w=a", "w=c", "w=(other)"}));
  EXPECT_THAT(row(rows, 0), ElementsAre(0, 0, 1));
  EXPECT_THAT(row(rows, 1), ElementsAre(1, 0, 0));
  EXPECT_THAT(table(text, options).notes, ElementsAre(HasSubstr("w (2 of 4 kept)")));
}

TEST(Table, NumbersBecomeCategoriesOnRequest) {
  ReadOptions options;
  options.categorical = {"zip"};
  const auto rows = csv("zip,x\n10,1\n9,2\n10,3\n", options);
  EXPECT_EQ(rows.feature_names, (Names{"zip=10", "zip=9", "x"}));
}

TEST(Table, BooleansAndDatesAreNumbers) {
  const auto rows = csv("ok,day\ntrue,1970-01-03\nFALSE,1970-01-02\n");
  EXPECT_FALSE(rows.sparse);
  EXPECT_EQ(rows.values, (std::vector<float>{1, 2, 0, 1}));
}

TEST(Table, AllMissingColumnsAreNamedAtOnce) {
  EXPECT_EQ(
      error("a,b,c\n1,x,3\n,?,4\nNA,y,5\n"),
      "file0: values are missing in 2 of 3 columns: a (2), b (1), the first in row 1 (counted "
      "from 0); use `missing` drop, mean, median or indicator, or `ignore_column`");
}

TEST(Table, MissingValuesAreDropped) {
  const auto rows = csv("a,b\n1,x\n,y\n3,z\n4,NA\n5,x\n", with(Missing::kDrop));
  EXPECT_EQ(rows.rows, 3);
  // No level is left of a row that was dropped.
  EXPECT_EQ(rows.feature_names, (Names{"a", "b=x", "b=z"}));
  EXPECT_THAT(row(rows, 2), ElementsAre(5, 1, 0));
  EXPECT_THAT(table("a,b\n1,x\n,y\n3,z\n", with(Missing::kDrop)).notes,
              ElementsAre("1 of 3 rows were left out, because they lack a value"));
  EXPECT_THAT(error("a\nNA\n\"\"\n", with(Missing::kDrop)), HasSubstr("no row is left"));
}

TEST(Table, ClassesOfDroppedRowsDoNotExist) {
  const auto rows = csv("a,y\n1,no\n,maybe\n3,yes\n4,\n", with(Missing::kDrop, "y"));
  EXPECT_EQ(rows.class_names, (Names{"no", "yes"}));
  EXPECT_EQ(rows.labels, (std::vector<double>{0, 1}));
  EXPECT_THAT(error("a,y\n1,no\n3,yes\n4,\n", with(Missing::kMean, "y")),
              HasSubstr("the label is missing in 1 of 3 rows, the first is row 2"));
}

TEST(Table, MissingValuesAreFilled) {
  const std::string text = "a,b\n1,x\n,y\n4,\n100,x\n";
  const auto mean = csv(text, with(Missing::kMean));
  EXPECT_THAT(row(mean, 1), ElementsAre(35, 0, 1));
  EXPECT_THAT(row(mean, 2), ElementsAre(4, 0, 0));
  const auto median = csv(text, with(Missing::kMedian));
  EXPECT_THAT(row(median, 1), ElementsAre(4, 0, 1));
  const auto indicator = csv(text, with(Missing::kIndicator));
  EXPECT_EQ(indicator.feature_names, (Names{"a", "a=(missing)", "b=x", "b=y", "b=(missing)"}));
  EXPECT_THAT(row(indicator, 1), ElementsAre(35, 1, 0, 1, 0));
  EXPECT_THAT(row(indicator, 2), ElementsAre(4, 0, 0, 0, 1));
}

TEST(Table, MedianIsThatOfSortedValues) {
  std::vector<double> values;
  std::string text = "a,b\n";
  for (int i = 0; i < 1001; ++i) {
    values.push_back(((i * 7919) % 1001 - 500) * 0.37 + (i % 3 == 0 ? -1e-3 : 1e5));
    text += fmt::format("{},{}\n", values.back(), i % 10 == 3 ? "" : "1");
  }
  values.push_back(-7.5);
  text += "-7.5,1\n,1\n";
  std::sort(values.begin(), values.end());
  ReadOptions options = with(Missing::kMedian);
  options.dtype = DType::kFloat64;
  const Dataset data = table(text, options);
  EXPECT_EQ(*features(*data.table)[0]->fill, (values[500] + values[501]) / 2);
  EXPECT_EQ(*features(*data.table)[1]->fill, 1);
}

TEST(Table, FirstLineOfWordsAndNumbersIsARow) {
  // As in kddcup99: no header, and words among the numbers.
  const auto rows = csv("0,tcp,http\n5,udp,http\n0,tcp,ftp\n");
  EXPECT_EQ(rows.rows, 3);
  EXPECT_EQ(rows.feature_names, (Names{"0", "1=tcp", "1=udp", "2=ftp", "2=http"}));
}

TEST(Table, HeaderOfATableOfWords) {
  EXPECT_EQ(csv("name,town\nBob,Paris\nEve,Rome\n").rows, 2);
  EXPECT_EQ(csv("Bob,Paris\nEve,Rome\nBob,Rome\n").rows, 3);
}

TEST(Table, ColumnsByListAndPattern) {
  ReadOptions options;
  options.ignore_columns = {"a,b"};
  EXPECT_EQ(csv("a,b,c\n1,2,3\n", options).feature_names, (Names{"c"}));
  options.ignore_columns = {"x*", "-1"};
  EXPECT_EQ(csv("x1,b,x2,c\n1,2,3,4\n", options).feature_names, (Names{"b"}));
  options.ignore_columns = {};
  options.columns = {"x*"};
  options.label_column = "c";
  EXPECT_EQ(csv("x1,b,x2,c\n1,2,3,4\n", options).feature_names, (Names{"x1", "x2"}));
  options.columns = {"y*"};
  EXPECT_THAT(error("x1,b,x2,c\n1,2,3,4\n", options, ErrorKind::kUsage),
              HasSubstr("`columns` y*: no such column; known are x1, b, x2, c"));
}

TEST(Table, TwoColumnsOfOneNameAreRefused) {
  EXPECT_THAT(error("a,b,a\n1,2,3\n"), HasSubstr("two columns are named 'a'"));
  ReadOptions options;
  options.ignore_columns = {"2"};
  EXPECT_EQ(csv("a,b,a\n1,2,3\n", options).cols, 2);
}

TEST(Table, DecimalCommasAreRefused) {
  EXPECT_THAT(error("a;b\n1;2,5\n3;4,5\n"), HasSubstr("field b holds numbers with decimal commas"));
}

TEST(Table, FloatsThatMergeAreNoticed) {
  const std::string text = "ts,v\n1700000000,1\n1700000060,2\n1700000120,3\n";
  EXPECT_THAT(table(text).notes, ElementsAre(HasSubstr("float32 is too coarse for ts")));
  ReadOptions options;
  options.dtype = DType::kFloat64;
  EXPECT_THAT(table(text, options).notes, IsEmpty());
  EXPECT_THAT(table("v\n0.1\n0.2\n12345.678\n").notes, IsEmpty());
}

TEST(Table, IndexOfPandasIsNoticed) {
  EXPECT_THAT(table(",a\n0,5\n1,7\n2,9\n").notes,
              ElementsAre(HasSubstr("column 0 has no name and counts the rows")));
}

// A model's columns in another file.
ReadOptions options_of(const Dataset& trained, Incomplete incomplete = Incomplete::kKeep) {
  ReadOptions options;
  options.schema = trained.table;
  options.incomplete = incomplete;
  options.want_labels = incomplete != Incomplete::kKeep;
  return options;
}

TEST(TableOfAModel, ColumnsAreFoundByName) {
  const Dataset trained = table("a,cut,y\n1,fair,0\n2,good,1\n", with(Missing::kError, "y"));
  const auto rows = csv("new,cut,y,a\n9,good,1,5\n9,bad,1,6\n", options_of(trained));
  EXPECT_EQ(rows.feature_names, (Names{"a", "cut=fair", "cut=good"}));
  EXPECT_THAT(row(rows, 0), ElementsAre(5, 0, 1));
  EXPECT_THAT(row(rows, 1), ElementsAre(6, 0, 0));
  EXPECT_THAT(rows.labels, IsEmpty());
  const auto labelled = csv("y,cut,a\n1,good,5\n", options_of(trained, Incomplete::kDrop));
  EXPECT_THAT(labelled.labels, ElementsAre(1));
  EXPECT_THAT(table("new,cut,y,a\n9,good,1,5\n9,bad,1,6\n", options_of(trained)).notes,
              ElementsAre("levels that training did not see count nothing: cut (1 rows, such as "
                          "'bad')"));
}

TEST(TableOfAModel, MissingColumnsAreNamed) {
  const Dataset trained = table("a,b,c\n1,2,3\n");
  EXPECT_THAT(error("a,d\n1,2\n", options_of(trained)),
              HasSubstr("lacks 2 of 3 columns that are needed: b, c; it has a, d"));
}

TEST(TableOfAModel, FilesWithoutNamesGoByPosition) {
  const Dataset trained = table("1,x,0\n2,y,1\n3,x,1\n", with(Missing::kError, "-1"));
  EXPECT_EQ(trained.feature_names, (Names{"0", "1=x", "1=y"}));
  for (const char* text : {"7,y,1\n", "7,y\n"}) {
    EXPECT_THAT(row(csv(text, options_of(trained)), 0), ElementsAre(7, 0, 1)) << text;
  }
  EXPECT_THAT(error("7\n8\n", options_of(trained)), HasSubstr("found 1 columns, expected 2"));
}

TEST(TableOfAModel, RowsThatLackAValueStayOrGo) {
  const Dataset trained = table("a,b\n1,x\n2,y\n");
  const std::string text = "a,b\n1,x\n,x\n3,\n4,y\n";
  const TemporaryFolder folder;
  write_text(folder / "a.csv", text);
  const Dataset kept = read({folder / "a.csv"}, options_of(trained));
  EXPECT_EQ(rows(kept.x), 4);
  EXPECT_THAT(kept.incomplete, ElementsAre(1, 2));
  EXPECT_THAT(kept.notes, ElementsAre(HasSubstr("2 rows lack a value that the model needs")));
  EXPECT_EQ(csv(text, options_of(trained, Incomplete::kDrop)).rows, 2);
  EXPECT_THAT(error(text, options_of(trained, Incomplete::kAsTrained)),
              HasSubstr("missing in 2 of 2 columns"));
  // A model that fills values in needs none.
  const Dataset filling = table("a,b\n1,x\n2,y\n,x\n", with(Missing::kMean));
  const auto filled = csv(text, options_of(filling));
  EXPECT_THAT(row(filled, 1), ElementsAre(1.5f, 1, 0));
}

TEST(TableSchema, SurvivesJson) {
  const Dataset data =
      table("a,b,c,y\n1,x,true,0\n,y,false,1\n3,z,no,1\n", with(Missing::kIndicator, "y"));
  EXPECT_EQ(schema_from_json(to_json(*data.table)), *data.table);
}

TEST(TableSchema, DamagedOnesAreRefused) {
  using base::Json;
  const Json good = to_json(*table("a,b\n1,x\n2,y\n").table);
  EXPECT_EQ(schema_from_json(good).columns.size(), 2);
  const auto refused = [&](const std::function<void(Json&)>& damage) {
    Json json = good;
    damage(json);
    EXPECT_THROW(schema_from_json(json), base::Error) << json.dump();
  };
  refused([](Json& j) { j["missing"] = "maybe"; });
  refused([](Json& j) { j.erase("columns"); });
  refused([](Json& j) { j["columns"] = Json::array(); });
  refused([](Json& j) { j["columns"][0]["kind"] = "thing"; });
  refused([](Json& j) { j["columns"][0]["role"] = 3; });
  refused([](Json& j) { j["columns"][1]["levels"] = {"b", "a"}; });
  refused([](Json& j) { j["columns"][1]["levels"] = {"a", "a"}; });
  refused([](Json& j) { j["scales"] = {1, 1}; });
  refused([](Json& j) { j["scales"] = {1, 0, 1}; });
  refused([](Json& j) { j["idf"] = {1, 2, "x"}; });
  refused([](Json& j) { j["unnamed"] = 5; });
  refused([](Json& j) { j["columns"][0]["fill"] = "x"; });
  EXPECT_THROW(schema_from_json(Json::array()), base::Error);
}

TEST(Convert, ATableIsTheSameFromItsConvertedFile) {
  const TemporaryFolder folder;
  std::string text = "a,cut,day,y\n";
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{},{},2024-01-{:02},{}\n", i % 7 == 0 ? "NA" : std::to_string(i * 0.5),
                        i % 11 == 0 ? "" : fmt::format("level {}", i % 5), i % 28 + 1,
                        i % 3 == 0 ? "yes" : "no");
  }
  write_text(folder / "a.csv", text);
  for (const Missing missing :
       {Missing::kDrop, Missing::kMean, Missing::kMedian, Missing::kIndicator}) {
    const ReadOptions options = with(missing, "y");
    convert({folder / "a.csv"}, folder / "a.safetensors", options);
    const Dataset read_again = read({folder / "a.safetensors"}, {});
    const Dataset data = read({folder / "a.csv"}, options);
    EXPECT_TRUE(rows_of<float>(read_again) == rows_of<float>(data));
    EXPECT_EQ(sha256(read_again, 1), sha256(data, 1));
    EXPECT_EQ(*read_again.table, *data.table);
  }
}

}  // namespace
}  // namespace meanwhile::data
