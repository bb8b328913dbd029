// What every transport must do, and both exchanges over it: one suite for all. A case is run by
// every worker of a job at once, with its own end of the transport, and throws where something is
// wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "meanwhile/transport/transport.h"

namespace meanwhile::transport::conformance {

struct Case {
  std::string name;
  std::function<void(Transport&)> run;
};

// Cases that leave the transport as it was, so that one job can run them all.
std::vector<Case> cases();

// Cases that end the job: one each. They need a short deadline (kShortDeadlineSeconds).
std::vector<Case> last_cases();

inline constexpr double kShortDeadlineSeconds = 0.3;

}  // namespace meanwhile::transport::conformance
