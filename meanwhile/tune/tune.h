// The best of several models of one learner: the data is read and encoded once, every combination
// of the parameters is trained and judged, and the winner is trained on all rows and kept as a run.
//
//   runtime::Threads threads({});
//   tune::tune({.run = {.learner = "logistic", .inputs = {"train.libsvm"}},
//               .axes = {{"l2", {1e-6, 1e-4, 1e-2}}}},
//              learn::standard_registry(), threads, observer);
//
// Models of classes, numbers and topics are judged on rows that were held out: those of each fold
// in turn. Clusters are judged on the rows that they were made from (clusters.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/job/observer.h"
#include "meanwhile/job/run.h"
#include "meanwhile/job/run_spec.h"
#include "meanwhile/job/runtime.h"
#include "meanwhile/learn/comparing.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/tune/folds.h"
#include "meanwhile/tune/grid.h"

namespace meanwhile::tune {

struct TuneSpec {
  // The part that all trainings have in common; `out` is the directory of the winner's run. It
  // resumes nothing and names no held-out file.
  job::RunSpec run;
  std::vector<Axis> axes = {};  // parameters with several values
  int folds = 0;                // 0: one, of test_fraction of the rows, or 5 where that is 0, too
  double test_fraction = 0;
  std::string score = {};            // that decides; empty: the first of Comparing::scores
  std::int64_t silhouette_rows = 0;  // compared for a silhouette, at most; 0: by their columns
  int threads = 0;                   // 0: all the machine offers; no result depends on it
};

struct Candidate {
  Json parameters = {};                                     // values of the axes, by name
  std::vector<double> scores = {};                          // by fold; one where there are no folds
  double score = std::numeric_limits<double>::quiet_NaN();  // their mean
  double deviation = 0;                                     // standard deviation of the scores
  Json measures = Json::object();  // means of all numbers that the model's measures are
  double rounds = 0;               // of training, a mean
  double seconds = 0;              // of all its trainings
};

struct TuneResult {
  learn::Comparing::Score score;  // that decided
  std::vector<Candidate> candidates;
  std::size_t best = 0;                         // of the candidates
  std::optional<std::size_t> elbow;             // where inertia bends most; clusters only
  std::vector<Edge> edges;                      // of the axes: where a better value may lie beyond
  Folds folds;                                  // none: clusters
  std::int64_t trainings = 0, unconverged = 0;  // of these, trainings that max_iter ended
  double load_s = 0, tune_s = 0;
  bool interrupted = false;  // nothing is kept then
  job::RunResult run;        // of the winner
  // All of the above, as tuning.json in the run's directory has it.
  Json record;
};

// THROWS Error(kUsage) when models of this learner cannot be compared, for a parameter or a score
// that it does not have; what reading and training throw. The winner has the best score; of equal
// ones the first along Comparing::path: the strongest penalty, the fewest clusters.
TuneResult tune(const TuneSpec& spec, const learn::Registry& registry, job::Runtime& runtime,
                job::Observer& observer);

}  // namespace meanwhile::tune
