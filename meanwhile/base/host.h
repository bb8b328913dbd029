// The computer and the process, as a run records them.
#pragma once

#include <cstdint>
#include <string>

#include "meanwhile/base/json.h"

namespace meanwhile::base {

// Model of the processor, threads, instruction set in use, memory.
Json machine();
// Versions of the program and of the compiler that made it.
Json versions();
// The largest resident set of this process so far, whatever its parent had.
std::int64_t peak_rss_bytes();
// Now, in UTC: "2031-05-07T09:30:00Z".
std::string iso_time();

}  // namespace meanwhile::base
