#include "meanwhile/data/text/tokens.h"

#include <gtest/gtest.h>

#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {
namespace {

using Words = std::vector<std::string>;

// All words, those that are not worth counting, too, or the others only; "|" for the end of a line.
Words words(const std::string& text, bool all = false) {
  const Alphabet alphabet;
  Tokens tokens(alphabet, text);
  Words found;
  for (auto next = tokens.next(); next != Tokens::Found::kEnd; next = tokens.next()) {
    if (next == Tokens::Found::kLineEnd) {
      found.push_back("|");
    } else if (all || tokens.counts()) {
      found.emplace_back(tokens.word());
    }
  }
  return found;
}

TEST(Tokens, AreRunsOfLettersAndDigitsInLowerCase) {
  EXPECT_EQ(words("The quick, BROWN fox--jumped (over) 2nd lazy_dog.\n"),
            (Words{"the", "quick", "brown", "fox", "jumped", "over", "2nd", "lazy", "dog", "|"}));
  EXPECT_EQ(words("well-known\tstate of\r\n"), (Words{"well", "known", "state", "of", "|"}));
  EXPECT_EQ(words(std::string("nul\0byte\n", 9)), (Words{"nul", "byte", "|"}));
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words("\n\nab\n"), (Words{"|", "|", "ab", "|"}));
}

TEST(Tokens, ShortOnesAndNumbersAreFoundButDoNotCount) {
  const std::string text = "I a 1984 x2 \xc3\xa9 \xd9\xa1\xd9\xa2 5'6 ok\n";
  EXPECT_EQ(words(text), (Words{"x2", "ok", "|"}));
  EXPECT_EQ(words(text, true),
            (Words{"i", "a", "1984", "x2", "\xc3\xa9", "\xd9\xa1\xd9\xa2", "5'6", "ok", "|"}));
}

TEST(Tokens, ApostrophesBelongToAWordBetweenItsLetters) {
  EXPECT_EQ(
      words("Don't 'quote' dogs' rock'n'roll it\xe2\x80\x99s l'\xc3\x89t\xc3\xa9 y''all\n"),
      (Words{"don't", "quote", "dogs", "rock'n'roll", "it's", "l'\xc3\xa9t\xc3\xa9", "all", "|"}));
  EXPECT_EQ(words("dogs\xe2\x80\x99 na\xc3\xafve' end'\n"),
            (Words{"dogs", "na\xc3\xafve", "end", "|"}));
}

TEST(Tokens, AccentsAreTheSameHoweverTheyAreWritten) {
  const std::string composed =
      "\xc3\x9c"
      "BER caf\xc3\x89\n";  // one character each
  const std::string apart =
      "U\xcc\x88"
      "BER cafE\xcc\x81\n";  // letter and mark
  EXPECT_EQ(words(composed), (Words{"\xc3\xbc"
                                    "ber",
                                    "caf\xc3\xa9", "|"}));
  EXPECT_EQ(words(apart), words(composed));
  // Lower case composes where upper case does not, and the other way round.
  EXPECT_EQ(words("J\xcc\x8c"
                  "a\n"),
            (Words{"\xc7\xb0"
                   "a",
                   "|"}));
  EXPECT_EQ(words("I\xcc\x87x \xc4\xb0x\n"), (Words{"ix", "ix", "|"}));
}

TEST(Tokens, OtherScripts) {
  EXPECT_EQ(words("\xd0\x9c\xd0\x9e\xd0\xa1\xd0\x9a\xd0\x92\xd0\x90 \xce\x91\xce\x98\n"),
            (Words{"\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0", "\xce\xb1\xce\xb8", "|"}));
  // Ideographs are cut at punctuation only.
  EXPECT_EQ(words("\xe4\xb8\xad\xe6\x96\x87\xe3\x80\x82\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\n"),
            (Words{"\xe4\xb8\xad\xe6\x96\x87", "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "|"}));
  // Hangul syllables, whole or as letters.
  EXPECT_EQ(words("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xb3\xe1\x86\xaf\n"),
            (Words{"\xed\x95\x9c\xea\xb8\x80", "|"}));
}

TEST(Tokens, EmojiSeparateAndWhatIsNotSeenIsLeftOut) {
  EXPECT_EQ(
      words("love\xe2\x9d\xa4\xef\xb8\x8fgreat \xf0\x9f\x98\x80\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd\n"),
      (Words{"love", "great", "|"}));
  EXPECT_EQ(words("co\xc2\xad"
                  "operate na\xe2\x80\x8dme\n"),
            (Words{"cooperate", "name", "|"}));
  EXPECT_EQ(words("\xcc\x81"
                  "ab\n"),
            (Words{"ab", "|"}));  // a mark alone begins no word
}

TEST(Tokens, VeryLongWordsDoNotCount) {
  const std::string longest(64, 'a'), longer(65, 'a');
  EXPECT_EQ(words(longest + " " + longer + " ok\n"), (Words{longest, "ok", "|"}));
  std::string wide, marks = "e";
  for (int i = 0; i < 64; ++i) wide += "\xc3\xa9";
  for (int i = 0; i < 100'000; ++i) marks += "\xcc\x81";
  EXPECT_EQ(words(wide + " " + wide + "\xc3\xa9 " + marks + " ok\n"), (Words{wide, "ok", "|"}));
}

TEST(Tokens, FoldedWordsFoldToThemselves) {
  std::string text;
  for (std::uint32_t c = 0x80; c < 0x30000; c += c < 0x3000 ? 1 : 37) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string character;
    if (c < 0x800) {
      character = {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    } else if (c < 0x10000) {
      character = {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
                   static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      character = {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3f)),
                   static_cast<char>(0x80 | (c >> 6 & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
    }
    text += "a" + character + "A " + character + "b\xcc\x8c ";
  }
  const Words once = words(text + "\n", true);
  std::string again;
  for (const std::string& word : once) again += word + (word == "|" ? "\n" : " ");
  EXPECT_EQ(words(again, true), once);
  EXPECT_GT(once.size(), 10'000U);
}

TEST(Tokens, WhatIsNoUtf8IsAnError) {
  const auto error = [](const std::string& text) {
    try {
      words(text);
    } catch (const BadText& bad) {
      return std::to_string(bad.offset) + ": " + bad.message;
    }
    return std::string("none");
  };
  EXPECT_EQ(error("ok caf\xe9 x\n"),
            "6: found byte 0xe9, expected text in UTF-8; convert the file first, for instance with "
            "iconv -f WINDOWS-1252 -t UTF-8");
  EXPECT_EQ(error("\x80 x\n").substr(0, 20), "0: found byte 0x80, ");
  EXPECT_EQ(error("a\xc3\n").substr(0, 20), "1: found byte 0xc3, ");     // cut short
  EXPECT_EQ(error("\xc0\xaf\n").substr(0, 20), "0: found byte 0xc0, ");  // longer than need be
  EXPECT_EQ(error("- \xed\xa0\x80\n").substr(0, 20), "2: found byte 0xed, ");  // half of a pair
  EXPECT_EQ(error("\xf5\x80\x80\x80\n").substr(0, 20), "0: found byte 0xf5, ");
  EXPECT_EQ(error("it'\xff\n").substr(0, 20), "3: found byte 0xff, ");
}

}  // namespace
}  // namespace meanwhile::data
