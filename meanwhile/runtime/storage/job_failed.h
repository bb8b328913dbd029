// The error that ends a job at every worker, unlike the end of one worker.
#pragma once

#include <string>

#include "meanwhile/base/error.h"

namespace meanwhile::runtime {

// The computation itself cannot go on: it would fail at any worker.
class JobFailed : public base::Error {
 public:
  explicit JobFailed(const base::Error& error) : base::Error(error) {}
};

// Returns step(). REQUIRES: `step` calls the learner and not the store, whose errors end one worker
// only. THROWS JobFailed, with `where` in front, for any Error.
template <class Step>
auto fail_job(const std::string& where, const Step& step) {
  try {
    return step();
  } catch (base::Error& e) {
    throw JobFailed(e.in(where));
  }
}

}  // namespace meanwhile::runtime
