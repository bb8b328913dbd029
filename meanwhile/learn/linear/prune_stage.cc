// After SGD with an L1 penalty: sets weights to zero whose best value is zero.
//
// A step of SGD leaves a weight near zero, and a mean of models is zero only where all of them are.
// So one more round looks at the gradient g of the loss on all rows. With a curvature of at most h,
// the best value of a weight w, all others as they are, is zero where |g - h w| <= l1, as in
// coordinate descent. Columns are centred for that: the intercept takes what the mean of a column
// gave. The score that follows compares both models and keeps the one with the lower objective:
// correlated columns may each be of no use only while the other is there.
//
// Update: gradient, by column | of intercepts, tail.
#include <cmath>

#include "meanwhile/learn/linear/chunks.h"
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

namespace {

class PruneStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kPrune; }

  exchange::UpdateShape update_shape() const override {
    const std::size_t C = fit_.problem.outputs;
    return {fit_.columns_block(C, 1), rest_block(C)};
  }

  void work(int shard, exchange::Update& update) const override {
    PassOptions options;
    options.seed = fit_.job.seed;
    options.round = static_cast<std::uint32_t>(fit_.progress.round);
    work_gradient(fit_, shard, options, update);
  }

  StageName absorb(const exchange::Update& total, Outcome& outcome) override {
    const Tail tail = Tail::of(total);
    record_objective(fit_, tail, outcome);
    outcome.phase = Phase::kScore;
    record_held_out(fit_, tail, outcome);
    fit_.progress.unpruned = outcome.objective;
    fit_.unpruned_w = fit_.w;
    outcome.record["pruned"] = prune(total, tail.weight);
    return StageName::kScore;
  }

  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override {
    if (!fit_.prunes() || training_stage(fit_, shape) == StageName::kLbfgs) return;
    Cost prune = train;
    prune.flops = 4 * static_cast<double>(shape.stored) * train.outputs;
    prune.bytes_read = (shape.sparse ? 8 : 4) * static_cast<double>(shape.stored) +
                       8 * static_cast<double>(shape.rows);
    prune.update_bytes = prune.absorb_bytes =
        8 * (static_cast<double>(shape.cols) + 1) * train.outputs;
    course.push_back({Phase::kScore, 1, prune});
  }

 private:
  // Returns how many weights became zero.
  std::int64_t prune(const exchange::Update& total, double weight) {
    const Problem& problem = fit_.problem;
    const Moments& moments = fit_.moments;
    const std::size_t C = problem.outputs, features = problem.intercepts();
    const std::span<const double> rows = all_rows(total, kFeatures, scratch_);
    const std::span<const double> intercepts = total.dense<double>(kRest);
    std::int64_t pruned = 0;
    for (std::size_t i = 0; i < features; ++i) {
      const std::size_t j = i / C, c = i % C;
      double& w = fit_.w[i];
      const double mean = problem.intercept ? moments.mean(j) : 0;
      const double h = problem.loss.curvature() * std::max(0.0, moments.second(j) - mean * mean);
      const double g = (rows[i] - mean * intercepts[c]) / weight;
      if (w == 0 || std::abs(g - h * w) > fit_.parameters.l1 * fit_.penalty_of(j)) continue;
      fit_.w[features + c] += w * mean;
      w = 0;
      ++pruned;
    }
    return pruned;
  }

  std::vector<double> scratch_;
};

}  // namespace

std::unique_ptr<LinearStage> prune_stage(Fit& fit) { return std::make_unique<PruneStage>(fit); }

}  // namespace meanwhile::learn::linear
