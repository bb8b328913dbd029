// Linear models: support vector machines, logistic regression, linear regression, by averaged SGD,
// by SGD on summed gradients, by L-BFGS, by the first and then the last,
// by working sets (doc/linear.md).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/learn/linear/fit.h"
#include "meanwhile/learn/linear/parameters.h"
#include "meanwhile/learn/linear/problem.h"
#include "meanwhile/learn/moves.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::linear {

class LinearStage;

class Linear final : public RoundLearner {
 public:
  // THROWS Error(kUsage).
  Linear(Kind kind, Parameters parameters);
  ~Linear() override;

  // Starts from the model in `file` on whatever data it is attached to; SGD goes on with the rate
  // it had come to. Before attach(). THROWS Error(kInput) when the file holds no such model.
  void start_from(const data::SafetensorsFile& file);
  // The same for the next of a path of penalties: weights go on changing as they did from the model
  // before to the one in `file`, so `share` of that step is what L-BFGS tries first. THROWS as
  // start_from().
  void follow(const data::SafetensorsFile& before, const data::SafetensorsFile& file, double share);

  std::string name() const override { return to_string(fit_.kind); }
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  int max_lag() const override;
  void set_ahead(int rounds) override { fit_.ahead = rounds; }
  void set_lag(int rounds) override { fit_.lag = rounds; }
  Moves* moves() override;
  std::int64_t rounds_left() const override;
  // Passes of SGD alone are as many as asked for.
  bool seeks_convergence() const override {
    const Parameters& p = fit_.parameters;
    return p.tol > 0 && p.solver != Solver::kSgd && p.send == Send::kModel;
  }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;

  // Weights for D columns by C outputs, then C intercepts.
  std::span<const double> weights() const { return fit_.w; }
  const Problem& problem() const { return fit_.problem; }

 private:
  LinearStage& stage(StageName name) const { return *stages_[static_cast<std::size_t>(name)]; }
  LinearStage& stage() const { return stage(fit_.progress.stage); }
  void enter(StageName next);
  void end_round(Outcome& outcome, StageName next);
  Json chosen() const;
  void restore_progress(const data::SafetensorsFile& file);
  [[noreturn]] static void refuse_to_go_on();

  bool complete_ = false;  // restored from a state that had converged: it cannot go on
  Fit fit_;
  std::array<std::unique_ptr<LinearStage>, 8> stages_;  // in the order of StageName
  std::unique_ptr<Moves> moves_;
};

}  // namespace meanwhile::learn::linear
