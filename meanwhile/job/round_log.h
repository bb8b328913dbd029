// The record of a round: the one writer of lines of metrics.jsonl and the one check of the
// objective, for every runtime.
#pragma once

#include <cstdint>
#include <span>

#include "meanwhile/base/json.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::job {

// Seconds of a run, by what they were spent on.
struct SecondsByPhase {
  double work = 0, exchange = 0, absorb = 0;  // of kTrain rounds; absorb: and all that is left
  double prepare = 0, score = 0;              // of the other rounds
  double bytes = 0;                           // sent by this worker in kTrain rounds
  std::int64_t rounds = 0;                    // kTrain

  void add(const learn::Outcome& outcome, double work_s, double exchange_s, double seconds);
};

// Content of a line beside the outcome.
struct RoundLine {
  std::int64_t round = 0;  // kTrain rounds done, this one included
  double work_s = 0, exchange_s = 0;
  double seconds = 0;         // of the round
  double elapsed_s = 0;       // since training began
  base::Json predicted = {};  // for a kTrain round; null: nothing was predicted
  base::Json more = {};       // further fields of a runtime; null or an object
};

// The line of a kTrain or kScore round.
base::Json round_line(const learn::Outcome& outcome, const RoundLine& line);
// The line of the kPrepare rounds before a kTrain round.
base::Json prepare_line(std::int64_t steps, double seconds);

// Staleness of fresh reads in a line: a histogram as tables::staleness_histogram() gives it, which
// is not empty, and the number of clocks that would have waited in rounds.
base::Json staleness_json(std::span<const std::int64_t> histogram, std::int64_t waits_saved);

// THROWS Error(kFailed) when the objective of a kTrain or kScore round is not finite.
void check_objective(const learn::Outcome& outcome);

}  // namespace meanwhile::job
