#include "meanwhile/learn/belief/parameters.h"

#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"

namespace meanwhile::learn::belief {

namespace {

void check_real(const char* name, double value, bool allowed, const char* range) {
  if (allowed && std::isfinite(value)) return;
  throw base::Error(base::ErrorKind::kUsage, "{} is {}; it must be {}", name, value, range);
}

}  // namespace

void validate(const Parameters& p) {
  check_real("damping", p.damping, p.damping >= 0 && p.damping < 1, "from 0 to below 1");
  check_real("tol", p.tol, p.tol >= 0, "0 or more");
  check_real("top", p.top, p.top > 0 && p.top <= 1, "above 0, and at most 1");
  check_real("clip", p.clip, p.clip >= 1 && p.clip <= 90, "from 1 to 90");
  constexpr std::int64_t kMostIterations = std::int64_t{1} << 40;
  if (p.max_iter < 1 || p.max_iter > kMostIterations) {
    throw base::Error(base::ErrorKind::kUsage, "max_iter is {}; it must be from 1 to {}",
                      p.max_iter, kMostIterations);
  }
}

Json to_json(const Parameters& parameters) { return described_json(parameters); }

Parameters parameters_from_json(const Json& json) {
  auto parameters = from_described<Parameters>(json, "belief propagation");
  validate(parameters);
  return parameters;
}

}  // namespace meanwhile::learn::belief
