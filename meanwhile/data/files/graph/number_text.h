// Whole numbers in the text of a file, read one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/error.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

// All text of a file, decompressed, with a cursor. Thread safety: none.
class NumberText {
 public:
  explicit NumberText(const std::filesystem::path& path)
      : name_(display_name(path)), bytes_(TextSource(path).rest()) {
    // Every loop ends at the last line end.
    const std::size_t size = bytes_.size();
    bytes_.resize(size + kTextPadding + 1);
    text_ = reinterpret_cast<const char*>(bytes_.data());
    reinterpret_cast<char*>(bytes_.data())[size] = '\n';
    end_ = text_ + size + (size > 0 && text_[size - 1] == '\n' ? 0 : 1);
    at_ = text_;
  }

  const std::string& name() const { return name_; }
  std::int64_t line() const { return line_; }  // counted from 1
  bool at_end() const { return at_ >= end_; }
  // Whether the line has no further word. Skips blanks.
  bool at_line_end() {
    at_ = skip_blanks(at_);
    return *at_ == '\n';
  }
  // Behind the line end. REQUIRES: at_line_end().
  void next_line() {
    ++at_;
    ++line_;
  }
  // The rest of the line, and goes behind it.
  std::string_view take_line() {
    const char* const begin = at_;
    while (*at_ != '\n') ++at_;
    const std::string_view line(begin, static_cast<std::size_t>(at_ - begin));
    next_line();
    return line;
  }
  char peek() const { return *at_; }

  // The next word of the line. THROWS Error(kInput) when it is none.
  std::int64_t whole_number(const char* what) {
    const char* p = skip_blanks(at_);
    const bool negative = *p == '-';
    p += negative;
    std::uint64_t value = 0;
    const char* const begin = p;
    for (; *p >= '0' && *p <= '9'; ++p) value = value * 10 + static_cast<unsigned>(*p - '0');
    if (p == begin || p - begin > 18 || !(is_blank(*p) || *p == '\n')) expected(what);
    at_ = p;
    return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  }
  double number(const char* what) {
    at_ = skip_blanks(at_);
    double value = 0;
    const char* const after = parse_number(at_, end_, value);
    if (after == nullptr || !(is_blank(*after) || *after == '\n')) expected(what);
    at_ = after;
    return value;
  }

  // THROWS Error(kInput) unless nothing but blank lines follows. `count`: of what, such as entries.
  void expect_end(const char* count) {
    for (; !at_end(); next_line()) {
      if (!at_line_end()) fail(fmt::format("found more {} than the file says it has", count));
    }
  }

  [[noreturn]] void expected(const char* what) {
    at_ = skip_blanks(at_);
    const std::string_view word = *at_ == '\n' ? std::string_view() : token_at(at_);
    fail(fmt::format("found {}, expected {}", word.empty() ? "nothing" : in_quotes(word), what));
  }
  [[noreturn]] void fail(const std::string& message) const { fail_at(line_, message); }
  [[noreturn]] void fail_at(std::int64_t line, const std::string& message) const {
    throw base::Error(base::ErrorKind::kInput, "{}: line {}: {}", name_, line, message);
  }

 private:
  const std::string name_;
  base::Buffer<std::byte> bytes_;
  const char* text_ = nullptr;
  const char* end_ = nullptr;
  const char* at_ = nullptr;
  std::int64_t line_ = 1;
};

}  // namespace meanwhile::data
