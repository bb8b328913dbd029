// Rows of text as a table that people read.
#pragma once

#include <string>
#include <vector>

namespace meanwhile::cli {

// A line for each row, cells as wide as the widest of their column, two blanks between them. The
// first row names the columns; those of `numbers` end at the right.
// REQUIRES: rows are equally long.
std::string in_columns(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& numbers);

}  // namespace meanwhile::cli
