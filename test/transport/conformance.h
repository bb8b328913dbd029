// The contract of every transport, and both exchanges over it: one suite for all. A case is run by
// every worker of a job at once, with its own end of the transport, and throws where something is
// wrong.
// wrong.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/transport/transport.h"

namespace meanwhile::transport::conformance {

template <class... Args>
void expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

struct Case {
  std::string name;
  std::function<void(Transport&)> run;
};
// Tests print the name of a case, not its bytes.
inline void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

// Cases that leave the transport as it was, so that one job can run them all.
std::vector<Case> cases();

// Cases that end the job: one each. They need a short deadline (kShortDeadlineSeconds).
std::vector<Case> last_cases();

// The cases of exchanges among them (conformance_sums.cc).
std::vector<Case> sum_cases();
std::vector<Case> last_sum_cases();

inline constexpr double kShortDeadlineSeconds = 0.3;

}  // namespace meanwhile::transport::conformance
