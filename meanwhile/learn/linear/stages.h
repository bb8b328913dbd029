// The stages of a linear model, one file each:
//
//   statistics   sums that fix weights of classes, scales of columns and of labels
//   rate         passes over samples, or a few steps on their gradients, with several learning
//                rates (when none was given)
//   model        SGD: a pass over the shard; models are averaged
//   gradient     SGD: the gradient of a sample; one step of all
//   lbfgs        value and gradient at the next point
//   working_set  gradient at a point, or products of the columns of a block
//   prune        after SGD with l1: weights whose best value is zero become zero
//   score        the objective of the final model, where no round before has it
//
// Weights that no row touched are exactly zero in every update: wide models travel as what changed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "meanwhile/learn/linear/fit.h"
#include "meanwhile/learn/moves.h"

namespace meanwhile::learn::linear {

class LinearStage : public Stage<StageName> {
 public:
  // `fit` is borrowed.
  explicit LinearStage(Fit& fit) : fit_(fit) {}

  // Training ends in this stage: sets the model that is kept. Returns the stage that follows: the
  // score, or this one where the round has scored that model already, which makes `outcome` final.
  virtual StageName finish(Outcome& outcome);

 protected:
  Fit& fit_;
};

std::unique_ptr<LinearStage> statistics_stage(Fit& fit);
std::unique_ptr<LinearStage> rate_stage(Fit& fit);
std::unique_ptr<LinearStage> model_stage(Fit& fit);
std::unique_ptr<LinearStage> gradient_stage(Fit& fit);
std::unique_ptr<LinearStage> lbfgs_stage(Fit& fit);
std::unique_ptr<LinearStage> working_set_stage(Fit& fit);
std::unique_ptr<LinearStage> prune_stage(Fit& fit);
std::unique_ptr<LinearStage> score_stage(Fit& fit);

// Gradients that a working set takes, about: the block doubles from round to round, and a penalty
// of a path begins where the last one ended.
double working_set_rounds(const Fit& fit);

// --- averaging as moves that add (moves.cc)

// Whether averaged models are such a sum: adaptive rates weigh shards by what they learned, l1 ends
// weights in the mean, and held-out rows choose one of the models.
bool has_moves(const Fit& fit);
// `end_round`: enters the stage that follows a round. All is borrowed.
using EndRound = std::function<void(Outcome& outcome, StageName next)>;
std::unique_ptr<Moves> linear_moves(Fit& fit, EndRound end_round);

// --- what rounds that look at losses have in common (rounds.cc)

// The last numbers of their updates.
struct Tail {
  static constexpr std::size_t kSize = 7;
  double loss = 0, sharp = 0, weight = 0, rows = 0;  // of the training rows
  double held_loss = 0, held_weight = 0, held_right = 0;

  static Tail of(const exchange::Update& total);
  void put(exchange::Update& update) const;
};

// The dense rest of an update: `numbers`, then the tail.
exchange::Block rest_block(std::size_t numbers);

// Adds the losses of the shard's held-out rows to the tail.
void score_held_out(const Fit& fit, int shard, Tail& tail);
// Passes over the shard's rows, or a sample of them, and puts losses and gradient into the update.
void work_gradient(const Fit& fit, int shard, const PassOptions& options, exchange::Update& update);

// The objective of the model that the round started from, for the record.
void record_objective(const Fit& fit, const Tail& tail, Outcome& outcome);
// The same for a round of training, which is counted. Ends training when the loss of held-out rows
// has not fallen for long enough.
void open_round(Fit& fit, const Tail& tail, Outcome& outcome);
void record_held_out(const Fit& fit, const Tail& tail, Outcome& outcome);

// Whether the last five rounds lowered the objective by more than tol.
bool still_falls(Fit& fit, double objective);
inline constexpr std::size_t kRecent = 6;  // objectives compared: five rounds

// --- what both kinds of SGD have in common (sgd_rounds.cc)

// Whether an objective is one to go on from.
bool is_well(const Fit& fit, double objective);
[[noreturn]] void throw_diverged(const Fit& fit, double objective);
// Absorbs a round: goes back when the objective has diverged, else calls `step` and looks whether
// to go on. Returns the next stage.
StageName absorb_sgd(Fit& fit, const Tail& tail, Outcome& outcome,
                     const std::function<void()>& step);

// One step on the summed gradient of a sample, and the penalties. `t`: number of the step.
// `squares`: of slopes, where rates are adaptive.
struct GradientStep {
  double weight = 1, t = 1, rate = 0;
};
void step_on_gradient(const Fit& fit, std::span<const double> features,
                      std::span<const double> intercepts, const GradientStep& step,
                      std::span<double> w, std::span<double> squares);

}  // namespace meanwhile::learn::linear
