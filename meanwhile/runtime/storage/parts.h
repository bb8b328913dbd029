// A step whose updates are made in parts, because shards wait for each other within it: a stretch
// of clocks (stretch.h), or a step of a learner with tables (table_step.h).
#pragma once

#include <cstdint>
#include <vector>

namespace meanwhile::runtime {

// What came of a look at such a step.
struct Advanced {
  std::int64_t parts = 0;    // done here: clocks of a shard, or the work of a shard with tables
  std::vector<int> over;     // shards all of whose parts are done
  std::int64_t arrived = 0;  // parts that were not known before
  bool any() const { return parts > 0 || !over.empty() || arrived > 0; }
};

}  // namespace meanwhile::runtime
