// Estimates of the moves that a reader does not see yet. Shards are random parts of one set of
// rows, so the moves of other shards of a clock are, in the mean, what its own shards moved at
// that clock. A model with such moves in it is near the one that rounds would have, and steps from
// it may be whole. A later read sees the moves themselves: what was foreseen is in no sum.
//
// A function of what a read saw and of the reader's own moves alone, so that it can be replayed.
#pragma once

#include <cstdint>
#include <span>

#include "meanwhile/exchange/order.h"
#include "meanwhile/tables/fixed_point.h"

namespace meanwhile::tables {

// A reader foresees its last clocks, so many. Moves that are older are missing in a read.
inline constexpr std::int64_t kForeseen = 3;

// For a read that saw `cut` of a slice, adds to `to` what the shards of other sources, which own
// `shards` shards together with the reader, are taken to have moved at `clock`. `move` is the
// reader's own, of the slice. REQUIRES: every source has a shard.
inline void foresee(std::span<const std::int64_t> cut, std::size_t reader, int shards,
                    std::int64_t clock, std::span<const std::int64_t> move,
                    std::span<std::int64_t> to) {
  const auto owned = [&](std::size_t source) {
    return exchange::owned(shards, static_cast<int>(source), static_cast<int>(cut.size())).size();
  };
  int lacks = 0;
  for (std::size_t source = 0; source < cut.size(); ++source) {
    if (source != reader && cut[source] <= clock) lacks += owned(source);
  }
  if (lacks > 0) add_part(move, static_cast<double>(lacks) / owned(reader), to);
}

}  // namespace meanwhile::tables
