// SGD on summed gradients, as Spark's MLlib has it: every shard sends the gradient of a sample of
// its rows, and all take one step of length rate / sqrt(round).
//
// Update: gradient, by column | of intercepts, tail.
#include <cmath>

#include "meanwhile/learn/linear/sgd_steps.h"
#include "meanwhile/learn/linear/stages.h"
#include "meanwhile/tables/reads.h"

namespace meanwhile::learn::linear {

void step_on_gradient(const Fit& fit, std::span<const double> features,
                      std::span<const double> intercepts, const GradientStep& step,
                      std::span<double> w, std::span<double> squares) {
  const Parameters& parameters = fit.parameters;
  const double rate = tables::good_step(fit.lag) * step.rate, common = rate / std::sqrt(step.t);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const bool penalised = i < features.size();
    const double factor = penalised ? fit.penalty_of(i / fit.problem.outputs) : 0;
    const double l1 = parameters.l1 * factor, l2 = parameters.l2 * factor * factor;
    const double slope = (penalised ? features[i] : intercepts[i - features.size()]) / step.weight;
    double own = common;
    if (parameters.adaptive) {
      if (slope == 0 && squares[i] == 0) continue;
      squares[i] += slope * slope;
      own = rate / std::sqrt(squares[i] + 1e-12);
    }
    w[i] = soft(w[i] - own * slope, own * l1) / (1 + own * l2);
  }
}

namespace {

class GradientStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kGradient; }

  exchange::UpdateShape update_shape() const override {
    const std::size_t C = fit_.problem.outputs;
    return {fit_.columns_block(C, fit_.parameters.batch_fraction), rest_block(C)};
  }

  void work(int shard, exchange::Update& update) const override {
    PassOptions options;
    options.fraction = fit_.parameters.batch_fraction;
    options.seed = fit_.job.seed;
    options.round = static_cast<std::uint32_t>(fit_.progress.round + fit_.ahead);
    work_gradient(fit_, shard, options, update);
  }

  int max_lag() const override { return kAnyLag; }

  StageName absorb(const exchange::Update& total, Outcome& outcome) override {
    const Tail tail = Tail::of(total);
    return absorb_sgd(fit_, tail, outcome, [&] {
      if (tail.weight == 0) return;
      const auto t = static_cast<double>(fit_.progress.stage_round);
      std::vector<double>& w = fit_.w;
      step_on_gradient(fit_, all_rows(total, kFeatures, scratch_),
                       total.dense<double>(kRest).first(fit_.problem.outputs),
                       {tail.weight, t, fit_.progress.rate}, w, fit_.squares);
      if (!fit_.parameters.average) return;
      std::vector<double>& mean = fit_.mean_w;
      if (mean.empty()) mean = w;
      for (std::size_t i = 0; i < w.size(); ++i) mean[i] += (w[i] - mean[i]) / t;
    });
  }

 private:
  std::vector<double> scratch_;
};

}  // namespace

std::unique_ptr<LinearStage> gradient_stage(Fit& fit) {
  return std::make_unique<GradientStage>(fit);
}

}  // namespace meanwhile::learn::linear
