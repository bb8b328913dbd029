// Which worker does which task of a step at a store, and how long each takes, for store.cc.
#pragma once

#include <vector>

#include "meanwhile/plan/simulate/simulation.h"
#include "meanwhile/runtime/storage/cost.h"

namespace meanwhile::plan {

// A unit is what is put as one update: a shard, or with machines that only add all that a worker
// has.
struct Assignment {
  struct Units {
    int first = 0, last = 0;  // [first, last)
  };
  // A worker that adds: for a group, for several groups, or for the root.
  struct Adder {
    int who = 0;    // the worker, or a machine of its own
    int parts = 0;  // to be added
    int read = 0;   // of them, those it has not made itself
  };
  std::vector<Units> units_of;  // by worker
  std::vector<int> owner_of;    // by unit
  std::vector<int> adder_of;    // by unit
  std::vector<Adder> adders;    // the root last; with one level it is all there is
  int machines = 0;             // workers, then those that only add
  int busy = 1;                 // workers that have units
  // Counts of the worker that has most.
  int most_units = 1, most_read = 1, root_read = 1;

  bool two_levels() const { return adders.size() > 1; }
};
Assignment assignment_of(const SimInput& input, const runtime::StepCost& cost);

// Seconds of one of each: an update put, an update or a sum read. The rest is done once.
struct StepSeconds {
  double put = 0, gather = 0, sum = 0, root = 0, total = 0, spread = 0;
};
StepSeconds step_seconds(const Storage& storage, const runtime::StepCost& cost,
                         const Assignment& assignment, double update_bytes);

}  // namespace meanwhile::plan
