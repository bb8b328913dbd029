// Every run checks the plan: what was expected of it beside what it took.
#pragma once

#include <string>

#include "meanwhile/job/train.h"
#include "meanwhile/plan/history.h"
#include "meanwhile/plan/predict.h"

namespace meanwhile::plan {

// Expectations of a run before it began.
struct Expected {
  Machine machine;
  Job job;
  Setting setting;
  int workers = 1;
  int staleness = 0;
  bool may_overlap = false;  // the run is at staleness 0, and its learner allows staleness 1
};

// The expected round of training, as lines of metrics.jsonl carry it. THROWS as predict().
base::Json expected_round(const Expected& expected);

// Measured times of the run.
struct Measured {
  job::SecondsByPhase seconds_by_phase;
  double load_s = 0;
  // Bytes sent by this worker in rounds of training. At a store: bytes both ways and requests of
  // all workers and steps, without those that asked in vain. 0: not known.
  double bytes = 0, requests = 0, price = 0;
};

// The prediction is of as many rounds as there were.
Audit audit(const Expected& expected, const Measured& measured);

// "predicted 10 s, took 11 s (+10 %): work 9 s, took 10 s ...", and a line that says what
// staleness 1 would have saved.
std::string to_text(const Audit& audit);

}  // namespace meanwhile::plan
