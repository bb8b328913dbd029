#include "meanwhile/cli/output/interrupt.h"

#include <csignal>

namespace meanwhile::cli {

namespace {

// A signal handler can reach nothing but what is static.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

const std::atomic<bool>* catch_interrupts() {
  // The one that was seen is not forgotten, and the next one kills.
  if (interrupted) return &interrupted;
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted.store(true, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &interrupted;
}

}  // namespace meanwhile::cli
