// A request to end early, as those see it who work: between two pieces of the work they look at a
// flag that belongs to the caller.
#pragma once

#include <atomic>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

// Thread safety: all.
class Stop {
 public:
  Stop() = default;  // never asked for
  // `flag`: borrowed; null: as without one.
  Stop(const std::atomic<bool>* flag) : flag_(flag) {}  // NOLINT: a flag is all there is

  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  // THROWS Error(kInterrupted) once it is requested.
  void check() const {
    if (requested()) throw Error(ErrorKind::kInterrupted, "interrupted");
  }
  const std::atomic<bool>* flag() const { return flag_; }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace meanwhile::base
