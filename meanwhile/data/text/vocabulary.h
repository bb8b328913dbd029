// Words with numbers: what the columns of counted text stand for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

// Which words of a text become columns.
struct VocabularyOptions {
  // Words in fewer documents are left out. Below 1: a fraction of the documents; else a number.
  double min_df = 2;
  // Words in more documents are left out. Up to 1: a fraction of the documents; else a number. So 1
  // is no limit for either.
  double max_df = 0.5;
  // At most so many words: those in most documents, of equal ones the first by bytes.
  std::int64_t max_words = 100'000;
  std::string stop_words = "english";  // or "none", or a file; see stop_words.h
};

// Thread safety: const.
class Vocabulary {
 public:
  Vocabulary() = default;
  // Word i is column i. THROWS Error(kInput), with the number of the word from 1, when one is
  // empty, not UTF-8, or there twice.
  explicit Vocabulary(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  // The column of `word`; -1 if it has none.
  std::int32_t find(std::string_view word) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;  // the upper half; the lower one says where the slot is
    std::int32_t column = -1;
  };
  std::vector<std::string> words_;
  std::vector<Slot> slots_;  // a power of two, half of them free at least
};

// A file with a word on each line, which may be compressed. THROWS Error(kInput) naming the file:
// as above, with the number of the line; also when it has no words.
Vocabulary read_vocabulary(const std::filesystem::path& path);

}  // namespace meanwhile::data
