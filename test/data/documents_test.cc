// Plain text as data, from the first look at a file to counts with names.
#include <gtest/gtest.h>

#include "meanwhile/data/files/convert.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/text/match.h"
#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/data/standard_input.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using Words = std::vector<std::string>;

std::shared_ptr<const Vocabulary> vocabulary(Words words) {
  return std::make_shared<const Vocabulary>(std::move(words));
}

ReadOptions counting(Words words) {
  ReadOptions options;
  options.format = &kTextReader;
  options.vocabulary = vocabulary(std::move(words));
  return options;
}

// Every word is a column.
ReadOptions all_words() {
  ReadOptions options;
  options.format = &kTextReader;
  options.words = {1, 1, 1000, "none"};
  return options;
}

TEST(Documents, ALineIsADocumentAnEmptyOneToo) {
  const auto rows = parse<float>({"bb aa Bb\n\n  \r\ncc?\r\nzz cc-cc, aa"}, kTextReader,
                                 counting({"aa", "bb", "cc"}));
  EXPECT_TRUE(rows.sparse);
  EXPECT_EQ(rows.rows, 5);
  EXPECT_EQ(rows.cols, 3);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 2, 2, 2, 3, 5}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 1, 2, 0, 2}));
  EXPECT_EQ(rows.values, (std::vector<float>{1, 2, 1, 1, 2}));
  EXPECT_EQ(rows.feature_names, (Words{"aa", "bb", "cc"}));
  EXPECT_TRUE(rows.labels.empty());
}

TEST(Documents, WordsOfTheVocabularyCountHoweverShort) {
  const auto rows = parse<double>({"I c 7 the I\n"}, kTextReader, counting({"the", "i", "7"}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(rows.values, (std::vector<double>{1, 2, 1}));
}

TEST(Documents, BadTextIsNamedByLineAndColumn) {
  EXPECT_EQ(parse_error({"aa\n\nbb \xff\n"}, kTextReader, counting({"aa"})),
            "file0: line 3, column 4: found byte 0xff, expected text in UTF-8; convert the file "
            "first, for instance with iconv -f WINDOWS-1252 -t UTF-8");
  EXPECT_EQ(parse_error({""}, kTextReader, counting({"aa"})), "file0: has no rows");
}

TEST(Documents, WordsAreChosenFromAllFiles) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "\xef\xbb\xbftwo one\none\n");
  write_text(folder / "b.txt.gz", gzip("three two"));
  for (const int threads : {1, 3}) {
    ReadOptions options = all_words();
    options.threads = threads;
    const Dataset data = read({folder / "a.txt", folder / "b.txt.gz"}, options);
    EXPECT_EQ(data.feature_names, (Words{"one", "three", "two"}));
    const auto rows = rows_of<float>(data);
    EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 2, 3, 5}));
    EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 2, 0, 1, 2}));
    EXPECT_EQ(data.unknown, (UnknownWords{0, 5}));
  }
  ReadOptions fixed = all_words();
  fixed.may_choose_words = false;
  EXPECT_EQ(error_of(base::ErrorKind::kUsage, [&] { read({folder / "a.txt"}, fixed); }),
            (folder / "a.txt").string() +
                ": is text, and the model does not say which words to count; give `vocabulary`");
}

TEST(Documents, StandardInputIsHeldToBeReadTwice) {
  const TemporaryFolder folder;
  write_text(folder / "a", "two one\none\n");
  write_text(folder / "a.gz", gzip("two one\none\n"));
  for (const char* name : {"a", "a.gz"}) {
    const StandardInput input(folder / name);
    const Dataset data = read({"-"}, all_words());
    EXPECT_EQ(data.feature_names, (Words{"one", "two"}));
    EXPECT_EQ(rows(data.x), 2);
  }
  const StandardInput input(folder / "a");
  EXPECT_EQ(rows(read({"-"}, counting({"one"})).x), 2);
}

TEST(Documents, UnknownWordsAreCountedButNotThoseNobodyMisses) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "The cat sat\non a mat mat 17\n");
  const Dataset data = read({folder / "a.txt"}, counting({"cat"}));
  EXPECT_EQ(data.unknown, (UnknownWords{3, 4}));
}

TEST(Documents, NamesSurviveConversion) {
  const TemporaryFolder folder;
  std::string text;
  Words words;
  for (int i = 0; i < 3000; ++i) {  // more than the first header holds
    words.push_back("word" + std::to_string(10'000 + i));
    text += words.back() + (i % 9 == 0 ? "\n" : " ");
  }
  write_text(folder / "a.txt", text + "word10001");
  ReadOptions options = all_words();
  options.words.max_words = 5000;
  const ConvertResult result = convert({folder / "a.txt"}, folder / "a.safetensors", options);
  EXPECT_EQ(result.cols, 3000);
  EXPECT_EQ(result.unknown, (UnknownWords{0, 3001}));
  const Dataset converted = read({folder / "a.safetensors"}, {});
  EXPECT_EQ(converted.feature_names, words);
  EXPECT_EQ(rows_of<float>(converted), rows_of<float>(read({folder / "a.txt"}, options)));
}

TEST(Documents, ColumnsOfOtherFormatsGetNames) {
  const TemporaryFolder folder;
  write_text(folder / "a.libsvm", "1 1:2\n2 2:1\n");
  write_text(folder / "a.csv", "1,2\n3,4\n");
  write_text(folder / "named.csv", "x,y\n3,4\n");
  ReadOptions options;
  options.column_names = vocabulary({"one", "two", "three"});
  const Dataset data = read({folder / "a.libsvm"}, options);
  EXPECT_EQ(cols(data.x), 3);
  EXPECT_EQ(data.feature_names, (Words{"one", "two", "three"}));
  EXPECT_EQ(convert({folder / "a.libsvm"}, folder / "a.safetensors", options).cols, 3);
  EXPECT_EQ(read({folder / "a.safetensors"}, {}).feature_names, data.feature_names);
  EXPECT_EQ(read({folder / "a.safetensors"}, options).feature_names, data.feature_names);
  const auto error = [&](const std::string& name) {
    return input_error_of([&] { read({folder / name}, options); })
        .substr(folder.path().string().size() + 1);
  };
  EXPECT_EQ(error("a.csv"), "a.csv: 2 columns, but the vocabulary has 3 words");
  options.column_names = vocabulary({"one"});
  EXPECT_EQ(error("a.libsvm"), "a.libsvm: 2 columns, but the vocabulary has 1 words");
  EXPECT_EQ(error("named.csv"),
            "named.csv: its columns have names, and they are not those of the vocabulary");
}

TEST(Match, ColumnsGoWhereTheirNamesAre) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "aa bb bb cc\n\nbb dd\n");
  const Dataset data = read({folder / "a.txt"}, all_words());
  const Dataset matched = match_columns(data, Vocabulary({"dd", "xx", "bb", "aa"}));
  EXPECT_EQ(matched.feature_names, (Words{"dd", "xx", "bb", "aa"}));
  const auto rows = rows_of<float>(matched);
  EXPECT_EQ(rows.cols, 4);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 2, 2, 4}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{2, 3, 0, 2}));
  EXPECT_EQ(rows.values, (std::vector<float>{2, 1, 1, 1}));
  EXPECT_EQ(matched.unknown, (UnknownWords{1, 6}));
}

TEST(Match, AddsColumnsOfOneNameAndRefusesDenseData) {
  const TemporaryFolder folder;
  write_text(folder / "a.libsvm", "1 1:2 2:5 3:4\n");
  Dataset data = read({folder / "a.libsvm"}, {});
  data.feature_names = {"x", "y", "x"};
  EXPECT_EQ(rows_of<float>(match_columns(data, Vocabulary({"z", "x"}))).values,
            (std::vector<float>{6}));
  write_text(folder / "a.csv", "x,y\n1,2\n");
  const Dataset dense = read({folder / "a.csv"}, {});
  EXPECT_EQ(input_error_of([&] { match_columns(dense, Vocabulary({"x"})); }),
            "columns can be matched by name in sparse data only, such as counts of words");
}

}  // namespace
}  // namespace meanwhile::data
