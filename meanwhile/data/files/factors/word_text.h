// Numbers in the text of a file, whatever lines they stand on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "meanwhile/base/buffer.h"

namespace meanwhile::data {

// All text of a file, decompressed, with a cursor. '#' at the start of a word begins a comment
// where `comments` says so. Thread safety: none.
class WordText {
 public:
  explicit WordText(const std::filesystem::path& path, bool comments = false);

  // Size of the text, decompressed.
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_.size()); }
  // Whether only blanks, line ends and comments are left. Skips them.
  bool at_end();
  // The next word; empty at the end.
  std::string_view word();
  // The next word as a number in [least, most]. THROWS Error(kInput) when it is none.
  std::int64_t whole_number(const char* what, std::int64_t least, std::int64_t most);
  // The next word as a finite number >= 0. THROWS likewise.
  double weight(const char* what);

  std::int64_t line() const { return word_line_; }  // of the last word
  // THROWS Error(kInput): file and line of the last word, or another line, and the message.
  [[noreturn]] void fail(const std::string& message) const { fail_at(word_line_, message); }
  [[noreturn]] void fail_at(std::int64_t line, const std::string& message) const;

 private:
  [[noreturn]] void expected(std::string_view found, const std::string& what) const;
  void skip();

  std::string name_;
  bool comments_ = false;
  base::Buffer<std::byte> bytes_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::int64_t line_ = 1, word_line_ = 1;
};

}  // namespace meanwhile::data
