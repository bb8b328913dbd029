#include "meanwhile/learn/learner.h"

#include <algorithm>
#include <cmath>

namespace meanwhile::learn {
namespace {

// Between numbers of workers that are known, along their logarithms. REQUIRES: spread is not empty.
double along(const std::vector<std::pair<int, data::Spread>>& spread, int workers, double at_one,
             double data::Spread::*value) {
  const auto above = std::find_if(spread.begin(), spread.end(),
                                  [&](const auto& known) { return known.first >= workers; });
  if (above == spread.end()) return spread.back().second.*value;
  if (above->first == workers) return above->second.*value;
  const bool first = above == spread.begin();
  const int low_workers = first ? 1 : (above - 1)->first;
  const double low = first ? at_one : (above - 1)->second.*value, high = above->second.*value;
  const double part =
      std::log(1.0 * workers / low_workers) / std::log(1.0 * above->first / low_workers);
  return low > 0 && high > 0 ? low * std::pow(high / low, part) : low + (high - low) * part;
}

}  // namespace

double Shape::copies_at(int workers) const {
  const double all = std::max(1, workers);
  if (workers <= 1 || spread.empty()) return all;
  return std::min(all, along(spread, workers, 1, &data::Spread::copies));
}

double Shape::busiest_at(int workers) const {
  if (workers <= 1 || spread.empty()) return 0;
  return along(spread, workers, 0, &data::Spread::busiest);
}

}  // namespace meanwhile::learn
