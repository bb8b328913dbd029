// The choice of an exchange.
#pragma once

namespace meanwhile::job {

// How the sums of several workers become one: see exchange/.
enum class Exchange { kAllreduce, kTree };

}  // namespace meanwhile::job
