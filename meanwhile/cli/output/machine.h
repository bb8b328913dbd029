// What a run records of the machine and of itself.
#pragma once

#include <cstdint>
#include <string>

#include "meanwhile/learn/learner.h"

namespace meanwhile::cli {

// Model of the processor, threads, instruction set in use, memory.
base::Json machine();
// Of the program and of the compiler that made it.
base::Json versions();
// The largest resident set of this process so far, whatever its parent had.
std::int64_t peak_rss_bytes();
// Now, in UTC: "2031-05-07T09:30:00Z".
std::string iso_time();

}  // namespace meanwhile::cli
