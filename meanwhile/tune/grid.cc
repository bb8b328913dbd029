#include "meanwhile/tune/grid.h"

#include <algorithm>

#include "meanwhile/base/error.h"

namespace meanwhile::tune {

std::vector<Json> combinations(const std::vector<Axis>& axes) {
  using base::Error;
  using base::ErrorKind;
  if (axes.empty()) {
    throw Error(ErrorKind::kUsage, "there is nothing to choose: give a parameter several values");
  }
  std::vector<Json> all = {Json::object()};
  for (const Axis& axis : axes) {
    std::vector<Json> longer;
    if (all.size() * axis.values.size() > kMostCandidates) {
      throw Error(ErrorKind::kUsage, "these lists make more than {} models to compare",
                  kMostCandidates);
    }
    for (const Json& one : all) {
      for (const Json& value : axis.values) {
        longer.push_back(one);
        longer.back()[axis.name] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<Chain> chains(const std::vector<Json>& candidates, const learn::Comparing& comparing) {
  std::vector<Chain> all;
  std::vector<Json> others;  // of each chain: what its candidates have in common
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Json rest = candidates[i];
    const bool is_on_path = rest.erase(comparing.path) > 0;
    const auto found = std::find(others.begin(), others.end(), rest);
    if (is_on_path && found != others.end()) {
      all[static_cast<std::size_t>(found - others.begin())].push_back(i);
      continue;
    }
    all.push_back({i});
    others.push_back(std::move(rest));
  }
  for (Chain& chain : all) {
    if (chain.size() < 2) continue;
    std::stable_sort(chain.begin(), chain.end(), [&](std::size_t a, std::size_t b) {
      const double first = candidates[a][comparing.path].get<double>();
      const double second = candidates[b][comparing.path].get<double>();
      return comparing.descending ? first > second : first < second;
    });
  }
  return all;
}

std::optional<Edge> edge_of(const Axis& axis, const Json& best, double least) {
  const auto is_number = [](const Json& value) { return value.is_number(); };
  if (axis.values.size() < 3 || !std::ranges::all_of(axis.values, is_number)) return {};
  std::vector<Json> values = axis.values;
  std::ranges::sort(values, {}, [](const Json& value) { return value.get<double>(); });
  if (best == values.back()) return Edge{axis.name, true, values[values.size() - 2]};
  if (best == values.front() && best.get<double>() > least)
    return Edge{axis.name, false, values[1]};
  return {};
}

}  // namespace meanwhile::tune
