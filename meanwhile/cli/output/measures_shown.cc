#include "meanwhile/cli/output/measures_shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

using base::Json;

namespace {

constexpr std::size_t kWidestName = 20;  // characters of a class; longer ones are cut

// Characters of UTF-8 text.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string cut(const std::string& name) {
  if (length_of(name) <= kWidestName) return name;
  std::size_t end = 0;
  for (std::size_t left = kWidestName - 1; left > 0; --left) {
    do ++end;
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80);
  }
  return name.substr(0, end) + "…";
}

std::string share_shown(const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:.4f}", value.get<double>());
}

std::string weight_shown(const Json& value) { return fmt::format("{:.6g}", value.get<double>()); }

// Rows of cells: the first one to the left, the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - length_of(row[i]), ' ');
      text += i == 0 ? "  " + row[i] + blanks : "  " + blanks + row[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

// Numbers of the classes that are shown, in order.
std::vector<std::size_t> most_frequent(const Json& classes) {
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return classes[a]["support"].get<double>() > classes[b]["support"].get<double>();
  });
  order.resize(std::min(order.size(), kClassesShown));
  std::sort(order.begin(), order.end());
  return order;
}

std::string classes_shown(const Json& measures, const Json& classes,
                          const std::vector<std::size_t>& shown) {
  std::vector<std::string> columns = {"precision", "recall", "f1"};
  if (classes[0].contains("auc")) columns.emplace_back("auc");
  std::vector<std::vector<std::string>> rows = {{""}};
  rows[0].insert(rows[0].end(), columns.begin(), columns.end());
  rows[0].emplace_back("support");
  double support = 0;
  for (const Json& each : classes) support += each["support"].get<double>();
  for (const std::size_t k : shown) {
    rows.push_back({cut(classes[k]["class"].get<std::string>())});
    for (const std::string& column : columns)
      rows.back().push_back(share_shown(classes[k][column]));
    rows.back().push_back(weight_shown(classes[k]["support"]));
  }
  for (const char* const mean : {"macro", "weighted"}) {
    rows.push_back({std::string("(") + mean + ")"});
    for (const std::string& column : columns) {
      rows.back().push_back(share_shown(measures[column + "_" + mean]));
    }
    rows.back().push_back(weight_shown(support));
  }
  return "\nclasses\n" + aligned(rows);
}

std::string confusion_shown(const Json& table, const Json& classes,
                            const std::vector<std::size_t>& shown) {
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const std::size_t k : shown) {
    const std::string name = cut(classes[k]["class"].get<std::string>());
    rows[0].push_back(name);
    rows.push_back({name});
    for (const std::size_t j : shown) rows.back().push_back(weight_shown(table[k][j]));
  }
  return "\nconfusion (a line a label, a column a prediction)\n" + aligned(rows);
}

}  // namespace

std::string measures_shown(Json measures) {
  if (!measures.contains("confusion")) return shown(measures);
  const Json classes = measures["classes"], confusion = measures["confusion"];
  Json single = Json::object();
  for (const auto& [name, value] : measures.items()) {
    const bool in_table = name == "classes" || name == "confusion" || name.ends_with("_macro") ||
                          name.ends_with("_weighted");
    if (!in_table) single[name] = value;
  }
  const std::vector<std::size_t> listed = most_frequent(classes);
  std::string text = shown(single) + classes_shown(measures, classes, listed);
  if (!confusion.is_null()) text += confusion_shown(confusion, classes, listed);
  if (listed.size() < classes.size()) {
    text += fmt::format("\nthe {} with the most rows, of {}; --json has all\n",
                        base::counted(std::ssize(listed), "class"), classes.size());
  }
  return text;
}

}  // namespace meanwhile::cli
