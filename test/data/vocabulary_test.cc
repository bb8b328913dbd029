#include "meanwhile/data/text/vocabulary.h"

#include <gtest/gtest.h>

#include "meanwhile/data/text/count_words.h"
#include "meanwhile/data/text/stop_words.h"
#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using Words = std::vector<std::string>;

VocabularyOptions limits(double min_df, double max_df, std::int64_t max_words = 1000) {
  return {min_df, max_df, max_words, "none"};
}

// The words that count_words leaves, in all the ways that must not matter.
Words counted(const std::vector<std::string>& texts, const VocabularyOptions& options) {
  const TemporaryFolder folder;
  std::vector<TextInput> inputs;
  for (const std::string& text : texts) {
    inputs.push_back({folder / ("file" + std::to_string(inputs.size())), nullptr, {}});
    write_text(inputs.back().path, text);
  }
  Words first;
  for (const Way& way : kWays) {
    const ChunkLimits chunks{way.chunk_bytes, 1 << 20};
    const Words found = count_words(inputs, options, way.threads, chunks).words();
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << way.chunk_bytes << " bytes, " << way.threads << " threads";
  }
  return first;
}

TEST(Vocabulary, FindsItsWordsAndNoOthers) {
  Words words;
  for (int i = 0; i < 5000; ++i) words.push_back("w" + std::to_string(i * i));
  const Vocabulary vocabulary(words);
  EXPECT_EQ(vocabulary.size(), 5000);
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(vocabulary.find(words[i]), static_cast<std::int32_t>(i));
  }
  for (const char* word : {"", "w", "w2", "W4", "w49999999999"}) {
    EXPECT_EQ(vocabulary.find(word), -1) << word;
  }
  EXPECT_EQ(Vocabulary().find("word"), -1);
}

TEST(Vocabulary, RefusesWordsThatAreNone) {
  const auto error = [](Words words) {
    return input_error_of([&] { const Vocabulary made(words); });
  };
  EXPECT_EQ(error({"a", "b", "a"}), "word 3, 'a', repeats word 1; expected each word once");
  EXPECT_EQ(error({"a", ""}), "word 2 is empty");
  EXPECT_EQ(error({"\xff"}), "word 1, '\\xff', is not UTF-8");
}

TEST(Vocabulary, IsReadFromAFile) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "\xef\xbb\xbfone\r\n two words\t\nthree");
  EXPECT_EQ(read_vocabulary(folder / "a.txt").words(), (Words{"one", "two words", "three"}));
  write_text(folder / "a.txt.gz", gzip("x\ny\n"));
  EXPECT_EQ(read_vocabulary(folder / "a.txt.gz").words(), (Words{"x", "y"}));
  const std::string name = (folder / "b.txt").string();
  const auto error = [&](const std::string& text) {
    write_text(name, text);
    return input_error_of([&] { read_vocabulary(name); });
  };
  EXPECT_EQ(error(""), name + ": has no words, expected one on each line");
  EXPECT_EQ(error("a\n\nb\n"), name + ": word 2 is empty");
  EXPECT_EQ(error("a\nb\na\n"), name + ": word 3, 'a', repeats word 1; expected each word once");
}

TEST(StopWords, AreEnglishOrNoneOrThoseOfAFile) {
  const Vocabulary english = stop_words("english");
  EXPECT_EQ(english.size(), 177);
  for (const char* word : {"the", "don't", "very", "i", "can"}) {
    EXPECT_GE(english.find(word), 0) << word;
  }
  EXPECT_EQ(stop_words("none").size(), 0);
  const TemporaryFolder folder;
  write_text(folder / "stop", "The\nund UND\n\xc3\x89t\xc3\xa9");
  EXPECT_EQ(stop_words(folder / "stop").words(), (Words{"the", "und", "\xc3\xa9t\xc3\xa9"}));
  EXPECT_EQ(input_error_of([&] { stop_words(folder / "none"); }),
            (folder / "none").string() + ": No such file or directory");
}

TEST(CountWords, LimitsAreNumbersOrFractionsOfDocuments) {
  // In 4, 3, 2 and 1 of 4 documents; how often does not matter.
  const std::vector<std::string> texts = {"aa bb cc dd dd dd\naa bb cc\n", "aa bb\naa aa\n"};
  EXPECT_EQ(counted(texts, limits(1, 1)), (Words{"aa", "bb", "cc", "dd"}));
  EXPECT_EQ(counted(texts, limits(0, 1)), (Words{"aa", "bb", "cc", "dd"}));
  EXPECT_EQ(counted(texts, limits(2, 1)), (Words{"aa", "bb", "cc"}));
  EXPECT_EQ(counted(texts, limits(0.5, 1)), (Words{"aa", "bb", "cc"}));
  EXPECT_EQ(counted(texts, limits(0.51, 1)), (Words{"aa", "bb"}));
  EXPECT_EQ(counted(texts, limits(1, 0.75)), (Words{"bb", "cc", "dd"}));
  EXPECT_EQ(counted(texts, limits(1, 2)), (Words{"cc", "dd"}));
  EXPECT_EQ(counted(texts, limits(2, 0.5)), (Words{"cc"}));
}

TEST(CountWords, TheMostFrequentAreKeptAndOfEqualOnesTheFirst) {
  const std::vector<std::string> texts = {"zz yy xx ww\nzz vv\nuu vv"};
  EXPECT_EQ(counted(texts, limits(1, 1, 1)), (Words{"vv"}));
  EXPECT_EQ(counted(texts, limits(1, 1, 2)), (Words{"vv", "zz"}));
  EXPECT_EQ(counted(texts, limits(1, 1, 4)), (Words{"uu", "vv", "ww", "zz"}));
}

TEST(CountWords, StopWordsShortWordsAndNumbersAreLeftOut) {
  VocabularyOptions options = limits(1, 1);
  options.stop_words = "english";
  EXPECT_EQ(counted({"The cat don't see 12 c 3d\n"}, options), (Words{"3d", "cat", "see"}));
}

TEST(CountWords, ManyWordsOfManyDocuments) {
  std::string text;
  for (int d = 0; d < 300; ++d) {
    for (int w = 1; w <= 40; ++w) text += "w" + std::to_string(d * w % 997) + (w % 7 ? " " : ", ");
    text += '\n';
  }
  EXPECT_GT(counted({text, text}, limits(3, 0.9)).size(), 700U);
}

TEST(CountWords, SaysWhyNoWordIsLeft) {
  const TemporaryFolder folder;
  const std::string name = (folder / "a.txt").string();
  const auto error = [&](const std::string& text, const VocabularyOptions& options) {
    write_text(name, text);
    return input_error_of([&] { count_words({{name, nullptr, {}}}, options, 1); });
  };
  EXPECT_EQ(error("aa bb\naa the\n", {}),
            name +
                ": no word is left to count: of 2 different ones in 2 documents (a line is one), "
                "stop words aside, 1 are in fewer than `min_df` 2 asks for and 1 in more than "
                "`max_df` 0.5 allows");
  EXPECT_EQ(error("", {}), name + ": has no rows");
  EXPECT_EQ(error("aa\nbb \xe9\n", {}),
            name +
                ": line 2, column 4: found byte 0xe9, expected text in UTF-8; convert the file "
                "first, for instance with iconv -f WINDOWS-1252 -t UTF-8");
}

TEST(CountWords, RefusesLimitsThatAreNone) {
  const auto error = [](const VocabularyOptions& options) {
    return error_of(base::ErrorKind::kUsage, [&] {
      count_words({{"-", nullptr, {}}}, options, 1);
    });
  };
  EXPECT_EQ(error(limits(2.5, 1)),
            "min_df: found 2.5, expected a fraction of the documents or a whole number of them");
  EXPECT_EQ(error(limits(1, -1)),
            "max_df: found -1, expected a fraction of the documents or a whole number of them");
  EXPECT_EQ(error(limits(1, 1, 0)), "max_words: found 0, expected 1 or more");
}

}  // namespace
}  // namespace meanwhile::data
