// Ctrl-C and SIGTERM, made into a flag.
#pragma once

#include <atomic>

namespace meanwhile::cli {

// From here on the first SIGINT or SIGTERM sets the flag returned, and the next one kills.
const std::atomic<bool>* catch_interrupts();

}  // namespace meanwhile::cli
