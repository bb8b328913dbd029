// The search for a learning rate: each of two shards tries several on a sample of its rows, which
// is a random sample of the data.
//
// Update: loss and weight of the later half of a pass, or after some steps on gradients, by rate.
#include <algorithm>
#include <cmath>

#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

namespace {

// Candidates: powers of 4 around the rate that the rows' lengths suggest.
constexpr std::size_t kRates = 7;
constexpr double kRateStep = 4;
constexpr int kRateBelow = 3;  // of them below it
constexpr int kRateShards = 2;
constexpr std::int64_t kRateSample = 2048;  // rows of each

class RateStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kRate; }

  exchange::UpdateShape update_shape() const override {
    return {exchange::Block{}, {.rows = static_cast<std::int64_t>(2 * kRates)}};
  }

  void work(int shard, exchange::Update& update) const override {
    if (shard >= kRateShards && fit_.shard(0).rows > 0) return;
    const std::span<double> losses = update.dense<double>(kRest);
    if (fit_.parameters.send == Send::kGradient) {
      for (std::size_t k = 0; k < kRates; ++k) {
        const LossSums sums = try_gradients(shard, rate(k));
        losses[2 * k] = sums.loss;
        losses[2 * k + 1] = sums.weight;
      }
      return;
    }
    std::vector<double> v = fit_.w;
    fit_.coordinates.enter(fit_.problem, v);
    SgdOptions options = fit_.sgd_options();
    options.decay = 0;
    options.most_rows = kRateSample;
    for (std::size_t k = 0; k < kRates; ++k) {
      options.rate = rate(k);
      if (options.rate * options.l2 >= 1) continue;
      const SgdResult pass =
          sgd_pass(fit_.problem, *fit_.examples, shard, fit_.coordinates, v, fit_.squares, options);
      losses[2 * k] = pass.late_loss;
      losses[2 * k + 1] = pass.late_weight;
    }
  }

  StageName absorb(const exchange::Update& update, Outcome& outcome) override {
    outcome.phase = Phase::kPrepare;
    const std::span<const double> total = update.dense<double>(kRest);
    double lowest = INFINITY, best = fit_.progress.rate;
    for (std::size_t k = 0; k < kRates; ++k) {
      const double mean = total[2 * k] / total[2 * k + 1];  // NaN where the rate was not tried
      if (!(mean < lowest)) continue;
      lowest = mean;
      best = rate(k);
    }
    fit_.progress.rate = best;
    return fit_.parameters.send == Send::kModel ? StageName::kModel : StageName::kGradient;
  }

  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override {
    const bool searched = fit_.progress.stage > StageName::kRate;
    const StageName trains = training_stage(fit_, shape);
    const bool steps = fit_.parameters.solver == Solver::kHybrid ||
                       (trains != StageName::kLbfgs && trains != StageName::kWorkingSet);
    if (!steps || searched || fit_.parameters.learning_rate != 0) return;
    Cost search = train;
    const double sample = kRateShards * static_cast<double>(kRateSample);
    const double share =
        std::min(1.0, sample / static_cast<double>(std::max<std::int64_t>(1, shape.rows)));
    const auto stored = static_cast<double>(shape.stored);
    search.flops = kRates * share * 4 * stored * train.outputs;
    search.bytes_read = kRates * share * (shape.sparse ? 8 : 4) * stored;
    search.update_bytes = search.absorb_bytes = 8 * 2 * kRates;
    course.push_back({Phase::kPrepare, 1, search});
  }

 private:
  double rate(std::size_t k) const {
    return fit_.progress.rate * std::pow(kRateStep, static_cast<double>(k) - kRateBelow);
  }

  // The loss on a sample after a few steps on sampled gradients.
  LossSums try_gradients(int shard, double rate) const {
    constexpr std::uint32_t kSteps = 12;
    const Problem& problem = fit_.problem;
    std::vector<double> w = fit_.w, squares = fit_.squares, gradient(problem.size());
    const auto rows = static_cast<double>(fit_.shard(shard).rows);
    PassOptions options;
    options.fraction = std::min(1.0, static_cast<double>(kRateSample) / std::max(rows, 1.0));
    options.seed = fit_.job.seed;
    const std::span<double> all = gradient;
    for (std::uint32_t t = 1;; ++t) {
      options.round = t;
      std::fill(gradient.begin(), gradient.end(), 0.0);
      const LossSums sums = pass(problem, *fit_.examples, shard, w, options, all);
      if (t > kSteps || sums.weight == 0) return sums;
      step_on_gradient(fit_, all.first(problem.intercepts()), all.subspan(problem.intercepts()),
                       {sums.weight, static_cast<double>(t), rate}, w, squares);
    }
  }
};

}  // namespace

std::unique_ptr<LinearStage> rate_stage(Fit& fit) { return std::make_unique<RateStage>(fit); }

}  // namespace meanwhile::learn::linear
