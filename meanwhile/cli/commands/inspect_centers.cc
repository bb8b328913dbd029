#include "meanwhile/cli/commands/inspect_centers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "meanwhile/cli/output/text_table.h"

namespace meanwhile::cli {

using base::Json;

namespace {

constexpr std::size_t kClusters = 8;  // beside each other
constexpr std::size_t kName = 30;     // characters

std::string number(const Json& value) {
  return value.is_number() ? fmt::format("{:.5g}", value.get<double>()) : "";
}

}  // namespace

std::string centers_shown(const Json& about) {
  const Json& centers = base::member_or_null(about, "centers");
  const Json& sizes = base::member_or_null(about, "sizes");
  const Json& mean = base::member_or_null(about, "mean");
  if (!centers.is_array() || centers.empty() || sizes.size() != centers.size()) return "";
  double rows = 0;
  for (const Json& size : sizes) rows += size.get<double>();
  std::string text;
  for (std::size_t begin = 0; begin < centers.size(); begin += kClusters) {
    const std::size_t end = std::min(centers.size(), begin + kClusters);
    std::vector<std::vector<std::string>> lines = {{"cluster", mean.is_null() ? "" : "all"},
                                                   {"size", mean.is_null() ? "" : number(rows)}};
    for (const auto& [name, value] : centers[0].items()) {
      lines.push_back({shortened(name, kName), mean.is_null() ? "" : number(mean[name])});
    }
    for (std::size_t k = begin; k < end; ++k) {
      lines[0].push_back(fmt::format("{}", k));
      lines[1].push_back(fmt::format("{}", sizes[k].get<double>()));
      std::size_t at = 2;
      for (const auto& [name, value] : centers[k].items()) lines[at++].push_back(number(value));
    }
    text += "\n" + text_table(lines, 1);
  }
  return text;
}

}  // namespace meanwhile::cli
