// The threads that a function may use, and the request that ends it early.
#pragma once

#include <algorithm>
#include <cstdint>

#include "meanwhile/base/stop.h"

namespace meanwhile::base {

// A number alone is so many threads that nothing stops.
struct Threads {
  Threads(int number) : count(number) {}  // NOLINT: most callers have a number
  Threads(int number, Stop asked) : count(number), stop(asked) {}

  // One for each task, but no more than there are; at least one.
  Threads at_most(std::int64_t tasks) const {
    return {static_cast<int>(std::clamp<std::int64_t>(tasks, 1, std::max(1, count))), stop};
  }

  int count = 1;
  Stop stop;
};

}  // namespace meanwhile::base
