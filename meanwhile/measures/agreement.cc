#include "meanwhile/measures/agreement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace meanwhile::measures {

namespace {

template <class Counts>
double entropy(const Counts& counts, double rows) {
  double sum = 0;
  for (const auto& [part, count] : counts) sum -= count / rows * std::log(count / rows);
  return sum;
}

// Twice the number of pairs of rows that are in one part.
template <class Counts>
double pairs(const Counts& counts) {
  double sum = 0;
  for (const auto& [part, count] : counts) sum += count * (count - 1);
  return sum;
}

}  // namespace

Agreement agreement(std::span<const double> labels, std::span<const std::int32_t> clusters) {
  std::map<double, double> of_label;
  std::map<std::int32_t, double> of_cluster;
  std::map<std::pair<double, std::int32_t>, double> of_both;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++of_label[labels[i]];
    ++of_cluster[clusters[i]];
    ++of_both[{labels[i], clusters[i]}];
  }
  Agreement result;
  const auto rows = static_cast<double>(labels.size());
  const double labelled = pairs(of_label), clustered = pairs(of_cluster), both = pairs(of_both);
  const double expected = rows > 1 ? labelled / (rows * (rows - 1)) * clustered : 0;
  const double most = (labelled + clustered) / 2;
  // Not more than rounding: both are one part, or both have each row alone.
  if (most - expected > 0) result.ari = (both - expected) / (most - expected);
  if (of_label.size() == 1 && of_cluster.size() == 1) return result;

  double information = 0;
  for (const auto& [part, count] : of_both) {
    information += count / rows *
                   std::log(count * rows / (of_label.at(part.first) * of_cluster.at(part.second)));
  }
  const double entropies = entropy(of_label, rows) + entropy(of_cluster, rows);
  if (entropies > 0) result.nmi = std::clamp(2 * information / entropies, 0.0, 1.0);
  return result;
}

}  // namespace meanwhile::measures
