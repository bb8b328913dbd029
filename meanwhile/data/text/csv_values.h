// Rows of numbers, the first of which may stand for a word, as fields of CSV.
#pragma once

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/text/csv_field.h"

namespace meanwhile::data {

// Thread safety: immutable.
class CsvValues {
 public:
  // `words`: not empty: the first value of a row is an index into it.
  CsvValues(std::span<const std::string> words, std::size_t width, char delimiter)
      : width_(width), delimiter_(delimiter) {
    std::size_t longest = kNumberBytes;
    for (const std::string& word : words) {
      words_.push_back(csv_field(word, delimiter));
      longest = std::max(longest, words_.back().size() + 1);
    }
    row_bytes_ = longest + width * kNumberBytes + 2;
  }

  // The most bytes of a row.
  std::size_t row_bytes() const { return row_bytes_; }

  // Writes the fields of a row and returns their end. NaN is nothing. `delimited`: a delimiter is
  // before the first field, too.
  char* put(const double* row, bool delimited, char* to) const {
    for (std::size_t j = 0; j < width_; ++j) {
      if (delimited || j > 0) *to++ = delimiter_;
      if (row[j] != row[j]) {
        // A run of blanks has no empty field, and a line without a byte is no row.
        if (delimiter_ == ' ' || (width_ == 1 && !delimited)) {
          *to++ = '"';
          *to++ = '"';
        }
      } else if (j == 0 && !words_.empty()) {
        const std::string& word = words_[static_cast<std::size_t>(row[j])];
        std::memcpy(to, word.data(), word.size());
        to += word.size();
      } else {
        to = fmt::format_to(to, FMT_COMPILE("{}"), row[j]);
      }
    }
    return to;
  }

 private:
  static constexpr std::size_t kNumberBytes = 32;  // as text, with a delimiter

  std::size_t width_, row_bytes_ = 0;
  char delimiter_;
  std::vector<std::string> words_;
};

// "a,b" and a line end.
inline std::string csv_header(std::span<const std::string> names, char delimiter) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += delimiter;
    text += csv_field(name, delimiter);
  }
  return text + "\n";
}

}  // namespace meanwhile::data
