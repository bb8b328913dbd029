// The words of plain text in UTF-8.
//
// A word is a run of letters, marks and digits that begins with a letter or a digit. An apostrophe
// (' or U+2019) between two of them belongs to the word, as "'". Everything else separates words,
// also hyphens and underscores. Words are normalised to NFC and lower case, each character by
// itself; soft hyphens, joiners and variation selectors are left out. So a word has the same bytes
// however it was typed. Scripts that put no blanks between words are not cut: that takes a program
// that knows the language.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

inline constexpr std::size_t kShortestWord = 2, kLongestWord = 64;  // characters

// Properties of characters. Thread safety: immutable.
class Alphabet {
 public:
  Alphabet();

  enum Kind : std::uint8_t { kOther, kLetter, kDigit, kMark, kJoiner, kApostrophe };
  Kind kind(std::int32_t character) const;
  // Whether NFC never changes the character because of its neighbours; then lower() is all it
  // needs.
  bool simple(std::int32_t character) const {
    return character < kTable && table_[static_cast<std::size_t>(character)].simple;
  }
  std::int32_t lower(std::int32_t character) const {
    return table_[static_cast<std::size_t>(character)].lower;
  }

 private:
  // Latin, Greek, Cyrillic, Armenian and Hebrew: most characters of two bytes.
  static constexpr std::int32_t kTable = 0x600;
  struct Entry {
    std::uint16_t lower;
    Kind kind;
    bool simple;
  };
  std::array<Entry, kTable> table_;
};

// Finds the words of a text in order. Borrows the alphabet and the text.
class Tokens {
 public:
  // REQUIRES: `text` is empty or ends with '\n'.
  Tokens(const Alphabet& alphabet, std::string_view text)
      : alphabet_(alphabet), begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  enum class Found { kWord, kLineEnd, kEnd };
  // THROWS BadText where the text is not UTF-8.
  Found next();

  // The word that was found. Valid until the next call of next().
  std::string_view word() const { return word_; }
  // Whether the word is worth counting: kShortestWord to kLongestWord characters, not all digits.
  // Other words are counted only if the vocabulary names them.
  bool counts() const { return counts_; }

 private:
  std::int32_t decode(const char* p, std::size_t& bytes) const;
  const char* find_end(const char* p, bool& simple, bool& digits);
  void mixed_word(const char* p);
  void compose(std::string_view text);

  const Alphabet& alphabet_;
  const char* const begin_;
  const char* at_;
  const char* const end_;
  std::string_view word_;
  bool counts_ = false;
  std::string folded_;
  std::vector<std::int32_t> characters_;
};

}  // namespace meanwhile::data
