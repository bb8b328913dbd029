#include "meanwhile/data/files/graph/vertex_values.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "meanwhile/data/files/graph/number_text.h"

namespace meanwhile::data {

namespace {

constexpr std::string_view kBetween = " \t,;\r";

// The next word of `line`, without the quotes round it; `line` begins behind it then.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBetween), line.size()));
  const bool quoted = line.starts_with('"');
  if (quoted) line.remove_prefix(1);
  const std::size_t size =
      std::min(quoted ? line.find('"') : line.find_first_of(kBetween), line.size());
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(std::min(size + quoted, line.size()));
  return word;
}

bool is_title(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kTitles = {"id",     "ID",   "vertex",
                                                              "Vertex", "node", "Node"};
  return std::find(kTitles.begin(), kTitles.end(), word) != kTitles.end();
}

}  // namespace

std::vector<VertexValue> read_vertex_values(const std::filesystem::path& path) {
  NumberText text(path);
  std::vector<VertexValue> values;
  for (bool first = true; !text.at_end();) {
    const std::int64_t number = text.line();
    std::string_view line = text.take_line();
    const std::string_view id = take_word(line), value = take_word(line), more = take_word(line);
    if (id.empty() || id.starts_with('#')) continue;
    if (!more.empty()) {
      text.fail_at(number, fmt::format("found {} after a value, expected the end of the line",
                                       in_quotes(more)));
    }
    const bool title = first && is_title(id);
    first = false;
    if (!title) values.push_back({std::string(id), std::string(value), number});
  }
  if (values.empty()) {
    throw base::Error(base::ErrorKind::kInput, "{}: names no vertex", text.name());
  }
  return values;
}

}  // namespace meanwhile::data
