#include "meanwhile/cli/output/columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace meanwhile::cli {

std::string in_columns(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& numbers) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool right =
          std::find(numbers.begin(), numbers.end(), rows.front()[c]) != numbers.end();
      if (c > 0) line += "  ";
      line += right ? fmt::format("{:>{}}", row[c], widths[c])
                    : fmt::format("{:<{}}", row[c], widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace meanwhile::cli
