// The last numbers of an update, of every round that looks at losses; and how updates are laid out.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "meanwhile/learn/linear/linear.h"

namespace meanwhile::learn::linear {

// Candidates of the search for a learning rate: powers of 4 around what the rows' lengths suggest.
inline constexpr std::size_t kRates = 7;
inline constexpr double kRateStep = 4;
inline constexpr int kRateBelow = 3;  // of them below it
// Shards that take part in the search: each holds a random sample of the data.
inline constexpr int kRateShards = 2;
inline constexpr std::int64_t kRateSample = 2048;  // rows of each
// Numbers before classes and moments in the update of the statistics.
inline constexpr std::size_t kStatisticsHead = 5;

struct Linear::Tail {
  static constexpr std::size_t kSize = 7;
  double loss = 0, sharp = 0, weight = 0, rows = 0;  // of the training rows
  double held_loss = 0, held_weight = 0, held_right = 0;

  static Tail of(std::span<const double> update) {
    const auto t = update.last(kSize);
    return {t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
  }
  void put(std::span<double> update) const {
    const std::array<double, kSize> numbers = {loss,      sharp,       weight,    rows,
                                               held_loss, held_weight, held_right};
    std::copy(numbers.begin(), numbers.end(), update.last(kSize).begin());
  }
};

}  // namespace meanwhile::learn::linear
