// Finds out whether a place in the middle of a CSV file is between quotes. The rule is that of
// cut_csv, applied to pieces without knowing how the text before a piece ended.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace meanwhile::data {

// How whole lines change the state between lines: after[b] is whether their end is between quotes
// if their start is (b = 1) or is not (b = 0).
struct QuoteMap {
  std::array<bool, 2> after = {false, true};
};

// Follows both possibilities at once. They are not always each other's opposite: quotes in a line
// that begins with # count only when the line is between quotes.
class QuoteScan {
 public:
  // The next piece; the first begins at the start of a line.
  void add(std::string_view text) {
    if (text.empty()) return;
    if (at_line_start_) begin_line(text.front());
    for (std::size_t at = 0;;) {
      const std::size_t quote = std::min(text.find('"', at), text.size());
      const std::size_t line_end = text.substr(at, quote - at).rfind('\n');
      if (line_end != text.npos) {
        const std::size_t start = at + line_end + 1;
        at_line_start_ = start == text.size();
        if (!at_line_start_) begin_line(text[start]);
      }
      if (quote == text.size()) return;
      for (const std::size_t b : {0u, 1u}) map_.after[b] ^= !comment_[b];
      at = quote + 1;
    }
  }
  const QuoteMap& map() const { return map_; }

 private:
  void begin_line(char first) {
    at_line_start_ = false;
    for (const std::size_t b : {0u, 1u}) comment_[b] = first == '#' && !map_.after[b];
  }

  QuoteMap map_;
  std::array<bool, 2> comment_ = {false, false};  // the current line is one
  bool at_line_start_ = true;
};

}  // namespace meanwhile::data
