// Files that give something to some vertices: a line has an id and, if the file is to say more, a
// value. Blanks, tabs, commas or semicolons lie between them, and '#' begins a comment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace meanwhile::data {

struct VertexValue {
  std::string id;
  std::string value;  // empty: the line has none
  std::int64_t line = 0;
};

// A first line whose first word is "id", "vertex" or "node" names columns. THROWS Error(kInput)
// with file and line, and for a file without lines.
std::vector<VertexValue> read_vertex_values(const std::filesystem::path& path);

}  // namespace meanwhile::data
