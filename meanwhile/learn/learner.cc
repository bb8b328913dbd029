#include "meanwhile/learn/learner.h"

#include <algorithm>
#include <cmath>

namespace meanwhile::learn {

double Shape::copies_at(int workers) const {
  const double all = std::max(1, workers);
  if (workers <= 1 || copies.empty()) return all;
  const auto above = std::lower_bound(copies.begin(), copies.end(), std::pair{workers, 0.0});
  if (above == copies.end()) return std::min(all, copies.back().second);
  if (above->first == workers) return above->second;
  const std::pair<int, double> below = above == copies.begin() ? std::pair{1, 1.0} : *(above - 1);
  const double part = std::log(all / below.first) / std::log(1.0 * above->first / below.first);
  return below.second * std::pow(above->second / below.second, part);
}

}  // namespace meanwhile::learn
