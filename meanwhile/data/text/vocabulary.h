// Numbered words: the columns of counted text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

// The rule that chooses the words of a text that become columns.
struct VocabularyOptions {
  // Words in fewer documents are left out. Below 1: a fraction of the documents; otherwise a
  // number.
  double min_df = 2;
  // Words in more documents are left out. Up to 1: a fraction of the documents; otherwise a number.
  // So 1 is no limit for either.
  double max_df = 0.5;
  // The largest number of words. Words in most documents are chosen; among equals the first by
  // bytes.
  std::int64_t max_words = 100'000;
  std::string stop_words = "english";  // or "none", or a file; see stop_words.h
  int ngrams = 1;  // runs of up to so many words, stop words aside, are words, too
};

// Thread safety: immutable.
class Vocabulary {
 public:
  Vocabulary() = default;
  // Word i is column i. THROWS Error(kInput), with the number of the word from 1, if a word is
  // empty, not UTF-8, or repeated.
  explicit Vocabulary(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  // The column of `word`, or -1.
  std::int32_t find(std::string_view word) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;  // the upper half; the lower half is the place of the slot
    std::int32_t column = -1;
  };
  std::vector<std::string> words_;
  std::vector<Slot> slots_;  // a power of two, at least half of them free
};

// Reads a file with a word on each line, which may be compressed. THROWS Error(kInput) naming the
// file: as above, with the number of the line; also if it has no words.
Vocabulary read_vocabulary(const std::filesystem::path& path);

}  // namespace meanwhile::data
