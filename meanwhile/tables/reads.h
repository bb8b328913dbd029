// The staleness rule, whole and pure: how old the model that a worker reads may be.
//
// A clock is a round of one worker; an update of clock c is its c-th. A cut says, for each source,
// how many of its clocks a read sees. With staleness s a read at clock c sees at least clocks
// 0 .. c - s - 1 of every source:
//
//   fixed   exactly these, and of itself no more: whole totals are absorbed s rounds late
//   fresh   of each source what has arrived, and all of its own
//
// Staleness 0 is rounds: a read sees all clocks before its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace meanwhile::tables {

enum class Reads { kFixed, kFresh };

// `staleness` of runs whose workers do not wait for each other. Votes and stopping rules travel
// with updates, so that some bound is needed: no run comes near this one.
inline constexpr int kUnbounded = 1 << 10;

struct Bound {
  int staleness = 0;
  Reads reads = Reads::kFixed;

  bool operator==(const Bound&) const = default;
};

using Cut = std::vector<std::int64_t>;  // for each source: clocks seen

// The clocks of any other source that a read at `clock` must see.
inline std::int64_t required(std::int64_t clock, Bound bound) {
  return std::max<std::int64_t>(0, clock - bound.staleness);
}

// Whether a read at `clock` may begin when so many clocks of each source have arrived.
// REQUIRES: arrived[reader] >= clock where reads are fresh.
inline bool may_start(std::span<const std::int64_t> arrived, std::int64_t clock, Bound bound) {
  const std::int64_t least = required(clock, bound);
  return std::all_of(arrived.begin(), arrived.end(),
                     [least](std::int64_t clocks) { return clocks >= least; });
}

// The cut that a read at `clock` sees. REQUIRES: may_start().
inline Cut seen(std::span<const std::int64_t> arrived, std::int64_t clock, std::size_t reader,
                Bound bound) {
  if (bound.reads == Reads::kFixed) return Cut(arrived.size(), required(clock, bound));
  Cut cut(arrived.begin(), arrived.end());
  cut[reader] = clock;
  return cut;
}

// Clocks of a source that a read at `clock` lacks. A source may be ahead of its reader: 0 then.
inline std::int64_t staleness(std::int64_t clock, std::int64_t clocks_seen) {
  return std::max<std::int64_t>(0, clock - clocks_seen);
}

// The largest a for which x[t+1] = x[t] - a x[t-s] stays bounded: a fixed lag of s rounds needs
// steps shortened to this part. 1 for s = 1, 0.62 for 2, 0.35 for 4, 0.18 for 8.
inline double largest_step(int lag) {
  return 2 * std::cos(lag * std::numbers::pi / (2.0 * lag + 1));
}

// The part of their steps that learners take with a fixed lag of two rounds or more. Near the
// largest the model swings round the optimum for long; much shorter ones are slow.
inline double good_step(int lag) { return lag == 0 ? 1 : 0.7 * largest_step(lag); }

// Change of the model by a unit of moves on a grid: it takes their mean over the shards.
inline double unit_of(double grid, int shards) { return grid / shards; }

}  // namespace meanwhile::tables
