// Times of past runs on a machine, beside what was predicted. The record of a profile is the file
// of that name with .runs.jsonl behind it: a line a run, only ever added to.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/plan/dial.h"
#include "meanwhile/plan/predict.h"

namespace meanwhile::plan {

struct Compared {
  double predicted = 0, measured = 0;
  // Positive: it took longer than predicted.
  double error() const { return predicted > 0 ? measured / predicted - 1 : 0; }
};

// One run: all that was predicted of it beside all that was measured.
struct Audit {
  std::string learner, runtime, machine;
  int workers = 1;
  double rounds = 0;  // of training
  Compared seconds;   // load, training, seeding and scoring
  // By load, prepare, work, exchange, absorb, score.
  std::map<std::string, Compared> seconds_by_phase;
  Compared bytes, requests, price;
  Rate rate;  // of the work, as measured; flops = 0: not known
  // Measured rounds as staleness 1 would have made them; none where that is not worth a word.
  std::optional<Overlapped> overlapped;
};

base::Json to_json(const Audit& audit);

struct History {
  std::vector<Audit> runs;  // oldest first
  int unreadable = 0;       // lines

  // Mean |measured / predicted - 1| of the last runs of this learner, or of all when it has none.
  struct Error {
    double mean = 0;
    int runs = 0;
    bool same_learner = false;
  };
  Error error(const std::string& learner) const;
};

std::filesystem::path history_path(const std::filesystem::path& profile);
// Nothing is there: an empty one.
History recall(const std::filesystem::path& profile);
// Adds a line. THROWS Error(kSystem) when it cannot.
void remember(const std::filesystem::path& profile, const Audit& audit);

// Adds the rates observed in past runs to the calibrated ones. Observed rates weigh more than
// calibrated ones, recent runs most.
void refine(Machine& machine, const History& history);

}  // namespace meanwhile::plan
