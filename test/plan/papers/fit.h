// Constants of a machine's storage from the times of runs: what nobody states can be had from a few
// jobs that ran. Least squares of the logarithms of times, so that each run counts the same.
#pragma once

#include <span>
#include <vector>

#include "meanwhile/plan/predict.h"

namespace meanwhile::plan {

struct TimedRun {
  int workers = 1;
  double seconds = 0;  // load and training, as Point::seconds
};

// A constant that is not known, and the range it is looked for in.
struct Unknown {
  double Storage::*field = nullptr;
  double from = 0, to = 0;  // 0 < from < to
};

struct Fit {
  Machine machine;   // with the constants found
  double error = 0;  // root of the mean square of log(predicted / measured)
};

// A function of its arguments alone. THROWS Error(kInput) when there are fewer runs than unknowns,
// a run is impossible, or a range is empty; and as predict() does.
Fit fit_storage(const Machine& machine, const Job& job, const Setting& setting,
                std::span<const TimedRun> runs, std::span<const Unknown> unknowns);

// Mean of |predicted - measured| / measured, in percent. REQUIRES: runs.
double error_percent(const Machine& machine, const Job& job, const Setting& setting,
                     std::span<const TimedRun> runs);

}  // namespace meanwhile::plan
