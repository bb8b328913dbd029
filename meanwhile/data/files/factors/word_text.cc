#include "meanwhile/data/files/factors/word_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

WordText::WordText(const std::filesystem::path& path, bool comments)
    : name_(display_name(path)), comments_(comments), bytes_(TextSource(path).rest()) {
  // Every loop ends at the line end behind the text.
  const std::size_t size = bytes_.size();
  bytes_.resize(size + kTextPadding + 1);
  char* const text = reinterpret_cast<char*>(bytes_.data());
  text[size] = '\n';
  at_ = text;
  end_ = text + size + 1;
}

void WordText::skip() {
  while (at_ < end_) {
    if (is_blank(*at_)) {
      ++at_;
    } else if (*at_ == '\n') {
      ++at_;
      ++line_;
    } else if (comments_ && *at_ == '#') {
      while (*at_ != '\n') ++at_;
    } else {
      return;
    }
  }
}

bool WordText::at_end() {
  skip();
  return at_ >= end_;
}

std::string_view WordText::word() {
  skip();
  word_line_ = line_;
  if (at_ >= end_) return {};
  const std::string_view found = token_at(at_);
  at_ += found.size();
  return found;
}

std::int64_t WordText::whole_number(const char* what, std::int64_t least, std::int64_t most) {
  const std::string_view text = word();
  std::int64_t value = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && after == text.data() + text.size();
  if (!whole || value < least || value > most) {
    expected(text, fmt::format("{}, a whole number from {} to {}", what, least, most));
  }
  return value;
}

double WordText::weight(const char* what) {
  const std::string_view text = word();
  double value = 0;
  const bool whole =
      !text.empty() && parse_number(text.data(), end_, value) == text.data() + text.size();
  if (!whole || !(value >= 0) || !std::isfinite(value)) {
    expected(text, fmt::format("{}, a finite number that is not negative", what));
  }
  return value;
}

void WordText::expected(std::string_view found, const std::string& what) const {
  if (found.empty()) fail(fmt::format("the file ends; expected {}", what));
  fail(fmt::format("found {}, expected {}", in_quotes(found), what));
}

void WordText::fail_at(std::int64_t line, const std::string& message) const {
  throw base::Error(base::ErrorKind::kInput, "{}: line {}: {}", name_, line, message);
}

}  // namespace meanwhile::data
