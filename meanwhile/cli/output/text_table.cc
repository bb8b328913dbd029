#include "meanwhile/cli/output/text_table.h"

#include <algorithm>

namespace meanwhile::cli {

namespace {

// The bytes of a character behind its first take no place.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && ++seen == most) break;
  }
  return text.substr(0, end) + "…";
}

std::string text_table(const std::vector<std::vector<std::string>>& lines, std::size_t left,
                       bool last_left) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t j = 0; j < line.size(); ++j) {
      widths[j] = std::max(widths[j], width_of(line[j]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (widths[j] == 0) continue;
      const std::string blanks(widths[j] - width_of(line[j]), ' ');
      const bool at_left = j < left || (last_left && j + 1 == line.size());
      if (j > 0) row += "  ";
      row += at_left ? line[j] + blanks : blanks + line[j];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace meanwhile::cli
