// Models judged on rows that were held out, fold by fold.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/tune/folds.h"
#include "meanwhile/tune/grid.h"
#include "meanwhile/tune/training.h"

namespace meanwhile::tune {

struct HeldOutOptions {
  int threads = 1;
  // Called on the calling thread, with the number of trainings that are done.
  std::function<void(std::size_t)> step = [](std::size_t) {};
};

// One training.
struct Judged {
  Json measures;  // learn::Model::evaluate on the held-out rows
  double rounds = 0, seconds = 0;
  bool fell_short = false;  // max_iter ended it before it converged
};

// judged[candidate][fold]; empty when interrupted. Folds and chains are done side by side, one
// thread each; the last ones, where there are fewer than threads, with all threads. `parameters`:
// of the candidates, settled.
std::vector<std::vector<Judged>> compare_held_out(const Setting& setting,
                                                  const std::vector<Json>& parameters,
                                                  const std::vector<Chain>& chains,
                                                  const data::Part& part, const Folds& folds,
                                                  const HeldOutOptions& options);

}  // namespace meanwhile::tune
