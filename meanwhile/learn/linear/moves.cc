// Averaging of models as moves: what a pass over a shard changes in the weights, in the coordinates
// of SGD. The summary is the tail of a round, and the penalty of the model that was read.
#include "meanwhile/learn/moves.h"

#include <algorithm>
#include <utility>

#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

namespace {

class LinearMoves final : public Moves {
 public:
  LinearMoves(Fit& fit, EndRound end_round) : fit_(fit), end_round_(std::move(end_round)) {}

  std::size_t size() const override { return fit_.problem.size(); }
  std::size_t summary_size() const override { return Tail::kSize + 1; }

  void begin() override {
    first_ = fit_.w;
    fit_.coordinates.enter(fit_.problem, first_);
  }

  void work(int shard, std::span<double> move, std::span<double> summary) const override {
    std::vector<double> v = fit_.w;
    fit_.coordinates.enter(fit_.problem, v);
    const SgdResult pass = sgd_pass(fit_.problem, *fit_.examples, shard, fit_.coordinates, v,
                                    fit_.squares, fit_.sgd_options());
    const double numbers[] = {pass.loss, pass.loss, pass.weight, pass.rows};
    for (std::size_t i = 0; i < std::size(numbers); ++i) summary[i] += numbers[i];
    if (pass.rows == 0) return;
    summary[Tail::kSize] += fit_.penalty() / busy();
    for (std::size_t i = 0; i < move.size(); ++i) move[i] = pass.v[i] - v[i];
  }

  void look(std::span<const std::int64_t> moved, double unit) override {
    // Empty shards do not count in the mean.
    const double scale = unit * static_cast<double>(fit_.job.part->shards.size()) / busy();
    for (std::size_t i = 0; i < fit_.w.size(); ++i) {
      fit_.w[i] = first_[i] + static_cast<double>(moved[i]) * scale;
    }
    fit_.coordinates.leave(fit_.problem, fit_.w);
  }

  Outcome settle(std::span<const double> summary) override {
    const Tail tail{summary[0], summary[1], summary[2], summary[3], 0, 0, 0};
    Outcome outcome;
    fit_.mean_penalty = summary[Tail::kSize];
    const double objective = tail.weight > 0 ? tail.sharp / tail.weight + *fit_.mean_penalty : 0;
    // There is no model that all workers know to go back to.
    if (fit_.progress.initial >= 0 && !is_well(fit_, objective)) throw_diverged(fit_, objective);
    const StageName next = absorb_sgd(fit_, tail, outcome, [] {});
    fit_.mean_penalty.reset();
    fit_.before.clear();  // it would be this worker's alone
    end_round_(outcome, next);
    return outcome;
  }

 private:
  double busy() const { return std::max(1, fit_.busy_shards); }

  Fit& fit_;
  const EndRound end_round_;
  std::vector<double> first_;  // in the coordinates of SGD
};

}  // namespace

bool has_moves(const Fit& fit) {
  return !fit.parameters.adaptive && fit.parameters.l1 == 0 && fit.eval == nullptr &&
         fit.parameters.validation_fraction == 0;
}

std::unique_ptr<Moves> linear_moves(Fit& fit, EndRound end_round) {
  return std::make_unique<LinearMoves>(fit, std::move(end_round));
}

}  // namespace meanwhile::learn::linear
