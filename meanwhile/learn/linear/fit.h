// The common part of the stages of a linear model: the problem, the rows, the model, and how far it
// has come.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/learn/linear/gradient.h"
#include "meanwhile/learn/linear/late_steps.h"
#include "meanwhile/learn/linear/parameters.h"
#include "meanwhile/learn/linear/path.h"
#include "meanwhile/learn/linear/problem.h"
#include "meanwhile/learn/linear/sgd.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/stage.h"

namespace meanwhile::learn::linear {

// The stages of a job, from left to right; a job leaves out those that it has no use for.
enum class StageName { kStatistics, kRate, kModel, kGradient, kLbfgs, kWorkingSet, kPrune, kScore };
inline constexpr Named<StageName> kStageNames[] = {
    {StageName::kStatistics, "statistics"}, {StageName::kRate, "rate"},
    {StageName::kModel, "model"},           {StageName::kGradient, "gradient"},
    {StageName::kLbfgs, "lbfgs"},           {StageName::kWorkingSet, "working_set"},
    {StageName::kPrune, "prune"},           {StageName::kScore, "score"}};
constexpr std::span<const Named<StageName>> names(StageName) { return kStageNames; }

// Averaging models pays where a pass has more rows than this for each column.
inline constexpr double kRowsForAveraging = 4;

// All that changes from round to round and is not a vector: in the state file as JSON.
struct Progress {
  StageName stage = StageName::kStatistics;
  std::int64_t round = 0, stage_round = 0;
  double rows = 0, weight = 0, mean_weight = 1, mean_square = 1;
  double rate = 0, delta = 0, smoothing = 0;
  double seen = 0;                                 // rows that SGD has stepped on, of all shards
  double initial = -1, last = -1, stage_end = -1;  // objectives
  double unpruned = -1;                            // the objective before weights were pruned
  double best_held_out = -1;
  std::int64_t since_best = 0, retreats = 0;
  std::int64_t retreating = 0;  // retreats in a row
  std::vector<double> recent;   // objectives of the last rounds
  double path_l1 = -1;          // the penalty of a path that is at work; below 0: none
  Ended ended;
  std::optional<StageName> ended_in;
};

// Moments of the columns: the second, and the first where columns are centred or deviations are
// asked for.
struct Moments {
  std::vector<double> values;  // side by side for each column; empty: not known
  std::size_t each = 1;        // of a column

  double second(std::size_t column) const { return values[each * column]; }
  double mean(std::size_t column) const { return each == 2 ? values[2 * column + 1] : 0; }
};

struct Fit {
  // THROWS Error(kUsage).
  Fit(Kind asked, Parameters given);

  const Kind kind;
  const Parameters parameters;

  // While attached.
  Attachment job;
  Problem problem;
  std::unique_ptr<Examples> examples, eval;
  bool dense = false;
  int busy_shards = 0;  // that have rows
  std::vector<std::string> feature_names;
  bool counts_from_one = false;
  Coordinates coordinates;  // of SGD

  // Carried from round to round.
  Progress progress;
  std::vector<double> w;  // as in Problem: the shared model
  Moments moments;
  std::vector<double> class_sums;       // sample weights by class
  std::vector<double> squares;          // of slopes, where rates are adaptive
  std::vector<double> mean_w;           // Polyak's, where gradients are sent
  std::vector<double> best_w;           // by held-out loss
  std::vector<double> before;           // the model one round ago, to go back to
  std::vector<double> last_w;           // where max_iter ended it: what is not the model, but next
  std::vector<double> unpruned_w;       // until the score of the pruned model is known
  std::vector<double> initial_classes;  // of the model to start from
  std::vector<std::string> initial_names;
  std::vector<PathPoint> path;  // penalties that are done
  std::vector<double> heading;  // the step from w that L-BFGS is to try first; empty: none

  bool newton = false;   // L-BFGS was begun
  int ahead = 0;         // rounds that are worked on and not absorbed when work() is called
  int lag = 0;           // rounds that the model which work() reads is behind, mostly
  LateSteps late_steps;  // where lag is 1
  // Where workers look at different models: the mean penalty of these, which all workers know.
  std::optional<double> mean_penalty;
  bool has_fresh_reads() const { return mean_penalty.has_value(); }
  bool done = false;  // nothing is left to absorb

  // Settles what parameters and labels say of the problem; the rest comes with the statistics.
  // THROWS Error(kUsage, kInput) when they do not fit the data.
  void attach(const Attachment& attachment);
  // After the statistics: weights of classes; coordinates of SGD. THROWS Error(kUsage).
  void settle_weights();
  void settle_coordinates();

  bool uses_moments() const;
  // Whether weights that SGD left near zero are set to zero in the end. A state of version 0.1.0
  // may lack the moments for it.
  bool prunes() const { return parameters.l1 > 0 && !moments.values.empty(); }
  const data::Shard& shard(int s) const { return job.part->shards[static_cast<std::size_t>(s)]; }

  // The penalty at work.
  double l1() const { return progress.path_l1 >= 0 ? progress.path_l1 : parameters.l1; }
  // Rounds of a path are counted together.
  std::int64_t most_rounds() const {
    return parameters.max_iter * std::max<std::int64_t>(1, parameters.path);
  }
  // Multiplies l1, and squared l2, of the weights of a column.
  double penalty_of(std::size_t column) const;
  double penalty() const;  // of w
  SgdOptions sgd_options() const;

  // `width` numbers for each column, in an update of a round that looks at this fraction of the
  // rows.
  exchange::Block columns_block(std::size_t width, double fraction) const;

 private:
  void settle_problem();

  std::unique_ptr<base::ThreadPool> own_pool_;  // where none was given
};

// The stage whose rounds train on data of this shape, mostly.
StageName training_stage(const Fit& fit, const Shape& shape);

// All updates have two blocks: numbers for each column, which are touched rows only where these are
// few, and the rest.
inline constexpr int kFeatures = 0, kRest = 1;

}  // namespace meanwhile::learn::linear
