// Lines of cells as aligned text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace meanwhile::cli {

// Characters of UTF-8 text.
std::size_t width_of(const std::string& text);

// The text, or its first characters and a sign that there are more: at most `most`.
std::string shortened(const std::string& text, std::size_t most);

// The columns below `left`, and the last one if `last_left`, begin at the left; numbers end at the
// right. Columns without a character are left out. REQUIRES: lines have as many cells as the first.
std::string text_table(const std::vector<std::vector<std::string>>& lines, std::size_t left,
                       bool last_left = false);

}  // namespace meanwhile::cli
