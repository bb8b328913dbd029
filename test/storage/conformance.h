// The contract of every store: one suite for all. Each test opens places of its own, so that tests
// may run at the same time, and on a store that keeps what earlier runs left.
#pragma once

#include <functional>
#include <string>

#include "meanwhile/storage/store.h"

namespace meanwhile::storage::conformance {

struct Subject {
  std::string name;  // of the test suite: letters and digits
  // A store that sees only what is below `area`: lower-case letters, digits and hyphens, the same
  // for several stores of one test, and never used before. `meter` outlives the store.
  std::function<Store(Meter& meter, const std::string& area)> open;
};

// Adds the tests to those that RUN_ALL_TESTS runs; call it before.
void register_conformance(const Subject& subject);

}  // namespace meanwhile::storage::conformance
