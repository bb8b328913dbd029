// Questions of a run to the planner: implemented in plan/, which lies above this folder.
#pragma once

#include <optional>
#include <string>

#include "meanwhile/job/runtime.h"
#include "meanwhile/learn/entry.h"

namespace meanwhile::job {

// A run as far as it is known once the data is read.
struct PlannedRun {
  const learn::Entry& entry;
  const base::Json& parameters;  // settled
  learn::Shape shape;
  int shards = 1;
  Deployment deployment;
  std::optional<Exchange> exchange;  // not set: open
  bool send_is_open = false;         // the user has not set the parameter `send`
  int staleness = 0;                 // of reads (tables/reads.h)
};

// How a run compares with its plan.
struct Comparison {
  base::Json audit;  // for run.json
  std::string text;  // a line for the user
  std::string note;  // what went wrong with remembering it; empty: nothing
};

class Planner {
 public:
  virtual ~Planner() = default;
  // Chooses what is open: an object with "workers", "why", "machine" and, where they were open,
  // "exchange" and "send". THROWS Error(kInput) when the profile says nothing of such a run.
  virtual base::Json choose(const PlannedRun& run) = 0;
  // The expected time of a round of training: an object with "seconds" and its parts, or with "not"
  // and the reason. THROWS Error(kInput) for a profile that is none.
  virtual base::Json expect(const PlannedRun& run, const learn::RoundLearner& learner) = 0;
  // After the last round: compares with what expect() said, and learns from it when the run is
  // done. Nothing when there is nothing to compare. `bill`: of a store, or null.
  virtual std::optional<Comparison> compare(const TrainResult& result, double load_s,
                                            const base::Json& bill) = 0;
};

}  // namespace meanwhile::job
