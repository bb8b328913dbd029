#include "meanwhile/cli/commands/inspect_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/cli/output/text_table.h"
#include "meanwhile/data/files/describe.h"

namespace meanwhile::cli {

using base::Json;

namespace {

constexpr std::size_t kWidest = 24;    // characters of a name or a value
constexpr std::int64_t kTopShown = 3;  // frequent values of a column
constexpr double kLeastShare = 0.05;   // of a frequent number; any word is of use

std::string cell(const Json& column, const char* key) {
  const Json& value = base::member_or_null(column, key);
  if (value.is_null()) return "";
  if (value.is_string()) return shortened(value.get<std::string>(), kWidest);
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump();
}

// "Ideal 40 %, Premium 26 %".
std::string top_shown(const Json& column, std::int64_t rows) {
  const Json& top = base::member_or_null(column, "top");
  const std::int64_t values = rows - base::count_or(column, "missing", 0);
  if (!top.is_array() || values == 0) return "";
  std::string text;
  std::int64_t shown = 0;
  for (const Json& entry : top) {
    const auto count = static_cast<double>(base::count_or(entry, "count", 0));
    const bool rare = count < kLeastShare * static_cast<double>(values);
    if (shown++ == kTopShown || (rare && !entry["value"].is_string())) break;
    if (!text.empty()) text += ", ";
    text +=
        fmt::format("{} {:.3g} %", cell(entry, "value"), 100 * count / static_cast<double>(values));
  }
  return text;
}

}  // namespace

std::string described(const Json& found) {
  Json facts = found;
  facts.erase("columns");
  std::string text = shown(facts);
  const std::int64_t rows = base::count_or(found, "rows", 0);
  const Json& columns = found.at("columns");
  if (columns.empty()) return text;
  std::vector<std::vector<std::string>> lines = {{"column", "kind", "missing", "distinct", "mean",
                                                  "std", "min", "25%", "50%", "75%", "max",
                                                  "most frequent"}};
  for (const Json& column : columns) {
    std::vector<std::string> line;
    for (const char* key : {"column", "kind", "missing", "distinct", "mean", "std", "min", "25%",
                            "50%", "75%", "max"}) {
      line.push_back(cell(column, key));
    }
    if (base::flag_or(column, "distinct_is_estimate", false)) line[3] = "~" + line[3];
    line.push_back(top_shown(column, rows));
    lines.push_back(std::move(line));
  }
  // A table of words has no means.
  for (std::size_t j = 0; j < lines.front().size(); ++j) {
    if (std::all_of(lines.begin() + 1, lines.end(),
                    [j](const auto& line) { return line[j].empty(); })) {
      lines.front()[j].clear();
    }
  }
  text += "\n" + text_table(lines, 2, true);
  const std::int64_t cols = base::count_or(found, "cols", 0);
  if (cols > std::ssize(columns)) {
    text += fmt::format("... {}, of which the first {} are described\n",
                        base::counted(cols, "column"), columns.size());
  }
  return text;
}

}  // namespace meanwhile::cli
