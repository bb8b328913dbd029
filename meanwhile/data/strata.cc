// Places are fixed first, from sizes alone: each part has the whole number below its share of a
// stratum, and a row that is left over goes to the part that lacks most of its share of all rows so
// far. Rows then take the places left in their stratum, each with the same probability.
#include "meanwhile/data/strata.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/random.h"

namespace meanwhile::data {

Strata::Strata(std::vector<std::int64_t> sizes, const std::vector<double>& shares,
               std::uint64_t seed)
    : left_(std::move(sizes)), rows_(shares.size(), 0), seed_(seed) {
  double all = 0;
  for (const std::int64_t size : left_) {
    all += static_cast<double>(size);
    std::vector<std::int64_t>& places = open_.emplace_back();
    for (std::size_t part = 0; part < shares.size(); ++part) {
      // A share such as 0.2 of 5 is 1, although the product may fall short of it.
      places.push_back(
          static_cast<std::int64_t>(std::floor(shares[part] * static_cast<double>(size) + 1e-9)));
      rows_[part] += places.back();
    }
    std::int64_t over = size - std::accumulate(places.begin(), places.end(), std::int64_t{0});
    std::vector<bool> has_more(shares.size(), false);
    for (; over > 0; --over) {
      std::size_t neediest = shares.size();
      double most = 0;
      for (std::size_t part = 0; part < shares.size(); ++part) {
        const double lacks = shares[part] * all - static_cast<double>(rows_[part]);
        if (has_more[part] || (neediest < shares.size() && lacks <= most)) continue;
        neediest = part;
        most = lacks;
      }
      has_more[neediest] = true;
      ++places[neediest];
      ++rows_[neediest];
    }
  }
}

int Strata::next(std::size_t stratum) {
  // Rows that a learner holds out are drawn in round 0.
  const base::Random random(seed_, base::Purpose::kHoldOut, 0, 1);
  auto place = static_cast<std::int64_t>(
      random.below(drawn_++, static_cast<std::uint64_t>(left_[stratum]--)));
  std::vector<std::int64_t>& open = open_[stratum];
  std::size_t part = 0;
  while (place >= open[part]) place -= open[part++];
  --open[part];
  return static_cast<int>(part);
}

}  // namespace meanwhile::data
