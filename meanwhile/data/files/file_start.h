// The start of a file of unknown format, for the functions that recognise formats by content.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

struct FileStart {
  FileStart(std::string_view first_bytes, bool documents_expected);

  std::string_view bytes;
  // Tokens between blanks of the first eight lines that are neither empty nor comments (#). The
  // last line counts although it may be cut. No line is without tokens.
  std::vector<std::vector<std::string>> lines;
  bool expect_documents;  // see ReadOptions
};

// Digits, at least one, and nothing else.
bool is_digits(std::string_view text);
// A number, NaN or infinity, and nothing else.
bool is_number(std::string_view text);

}  // namespace meanwhile::data
