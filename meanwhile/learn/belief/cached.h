// A worker's cache of a shard between rounds. All of it can be made again from rows, beliefs and
// the shard's memory, and is the same then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "meanwhile/learn/belief/belief.h"
#include "meanwhile/learn/belief/messages.h"

namespace meanwhile::learn::belief {

struct Belief::Cached {
  ShardFactors factors;
  std::vector<std::uint32_t> all;  // 0 .. factors - 1

  // For residual: the messages as they would be made now, and how far they are from those in the
  // memory; those of beliefs of this version. Another worker may have had the shard since then.
  std::vector<double> candidate, weight;
  std::vector<float> residual;
  std::int64_t version = kUnknown;
  static constexpr std::int64_t kUnknown = -2;
  // Messages into each variable of the shard, by number of the variable.
  std::vector<std::uint32_t> variables, variable_start, into;
  std::vector<std::uint8_t> is_stale;  // of each factor
  std::vector<std::uint32_t> stale;    // factors to make anew
  std::vector<std::uint32_t> senders;  // factors of which the last round sent a message

  std::vector<double> pending;  // of a sweep
};

// How far a message is from the one before: the largest change of a weight, where the largest
// weight is 1, to first order. A change by more than a factor of e, or a new hard zero, counts as
// 1.
inline double change_of(const Made& now, const double* before) {
  double change = 0;
  for (std::size_t k = 0; k < now.values.size(); ++k) {
    if (now.values[k] == before[k]) continue;
    const double logs = std::abs(now.values[k] - before[k]);  // infinite for a new hard zero
    change = std::max(change, logs <= 1 ? logs * now.weights[k] : 1.0);
  }
  return change;
}
// Change of the logarithm of a ratio, which is no less.
inline double change_of(double now, double before) { return std::abs(now - before); }

// The message that is sent: part of the old one is kept, in logarithms.
inline double damped(double now, double before, double damping, double rounding) {
  if (damping == 0 || now == kHardZero || before == kHardZero) return now;
  return on_grid(before + (1 - damping) * (now - before), rounding);
}

}  // namespace meanwhile::learn::belief
