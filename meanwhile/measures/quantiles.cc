#include "meanwhile/measures/quantiles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace meanwhile::measures {

std::vector<double> quantiles(std::span<const double> values, std::span<const double> weights,
                              std::span<const double> shares) {
  std::vector<std::pair<double, double>> sorted;  // value, weight
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    if (weight > 0) sorted.emplace_back(values[i], weight);
  }
  const bool ordered = std::none_of(sorted.begin(), sorted.end(),
                                    [](const auto& entry) { return std::isnan(entry.first); });
  if (sorted.empty() || !ordered) {
    return std::vector<double>(shares.size(), std::numeric_limits<double>::quiet_NaN());
  }
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (auto& [value, weight] : sorted) weight = sum += weight;  // of this one and all below
  std::vector<double> found;
  for (const double share : shares) {
    const auto at = std::lower_bound(
        sorted.begin(), sorted.end(), share * sum,
        [](const std::pair<double, double>& entry, double least) { return entry.second < least; });
    found.push_back(at == sorted.end() ? sorted.back().first : at->first);
  }
  return found;
}

}  // namespace meanwhile::measures
