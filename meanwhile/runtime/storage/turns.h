// A step whose updates are made in turns, because shards wait for each other within it: a stretch
// of clocks (stretch.h), or a step of a learner with tables (table_step.h).
#pragma once

#include <cstdint>
#include <vector>

namespace meanwhile::runtime {

// The outcome of a look at such a step.
struct Advanced {
  std::int64_t turns = 0;    // done here: clocks of a shard, or the work of a shard with tables
  std::vector<int> over;     // shards all of whose turns are done
  std::int64_t arrived = 0;  // turns of all workers that were not known before
  bool any() const { return turns > 0 || !over.empty() || arrived > 0; }
};

}  // namespace meanwhile::runtime
