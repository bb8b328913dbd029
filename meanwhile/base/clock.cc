#include "meanwhile/base/clock.h"

#include <thread>

namespace meanwhile::base {

void SystemClock::sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace meanwhile::base
