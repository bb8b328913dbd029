// The one clock of the program.
#pragma once

#include <chrono>

namespace meanwhile::base {

// Seconds on a clock that never goes back.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace meanwhile::base
