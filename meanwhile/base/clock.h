// The one clock of the program.
#pragma once

#include <chrono>

namespace meanwhile::base {

// Seconds on a clock that never goes back.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A clock that is passed to code that waits, so that a test or a simulation can pass its own.
// Thread safety: any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double time_s() = 0;
  virtual void sleep(double seconds) = 0;
};

// now_s(), and real sleep.
class SystemClock final : public Clock {
 public:
  double time_s() override { return now_s(); }
  void sleep(double seconds) override;
};

}  // namespace meanwhile::base
