// Cost of a step of a job at a store, from the way its work is cut: pure.
#pragma once

#include <vector>

#include "meanwhile/runtime/storage/layout.h"

namespace meanwhile::runtime {

// One of the parts of a step that follow each other. Those who do it do it at the same time.
struct Leg {
  enum class Kind { kWrite, kRead, kSpread } kind = Kind::kWrite;  // kSpread: all read one blob
  const char* name = "";
  double blobs = 0;    // of an update's size each, one after the other, at the busiest worker
  int at_once = 1;     // workers that do this
  bool waits = false;  // a worker must first see that its input is there
};

struct StepCost {
  std::vector<Leg> legs;
  double requests = 0;     // of all workers, without those that ask in vain
  double blobs_moved = 0;  // by all workers, of an update's size each
};

// As this program does it: workers hold shards, groups and the root, and do not read what they
// made.
StepCost step_cost(const Layout& layout, int workers);
// As "K-means on Azure" does it: ceil(sqrt P) machines add the updates of about as many workers
// each, and one more adds their sums.
StepCost separate_reducers_cost(int workers);
inline int separate_reducers(int workers) {
  return workers <= 1 ? 0 : static_cast<int>(std::ceil(std::sqrt(workers))) + 1;
}

}  // namespace meanwhile::runtime
