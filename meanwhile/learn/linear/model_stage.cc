// Averaging of models: every shard passes over its rows by SGD, starting from the shared model, and
// the models are averaged (MA-SGD of Guo and others). With adaptive rates the mean of a weight goes
// by how much each shard has learned of it: the squared slopes that it has gained.
//
// Update: weights - shrink * weights before, by column | intercepts, shrink, shards, tail.
// Adaptive: squares gained * move and squares gained, by column | the same of intercepts, shards,
// tail.
#include <cmath>

#include "meanwhile/learn/linear/sgd_steps.h"
#include "meanwhile/learn/linear/stages.h"
#include "meanwhile/tables/reads.h"

namespace meanwhile::learn::linear {

namespace {

class ModelStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kModel; }

  exchange::UpdateShape update_shape() const override {
    const std::size_t C = fit_.problem.outputs;
    return {fit_.columns_block((adaptive() ? 2 : 1) * C, 1),
            rest_block(adaptive() ? 2 * C + 1 : C + 2)};
  }

  void work(int shard, exchange::Update& update) const override {
    Tail tail;
    score_held_out(fit_, shard, tail);
    std::vector<double> entered;
    std::span<const double> v = fit_.w;
    if (!fit_.coordinates.scale.empty()) {
      entered = fit_.w;
      fit_.coordinates.enter(fit_.problem, entered);
      v = entered;
    }
    const SgdResult pass = sgd_pass(fit_.problem, *fit_.examples, shard, fit_.coordinates, v,
                                    fit_.squares, fit_.sgd_options());
    tail.loss = tail.sharp = pass.loss;
    tail.weight = pass.weight;
    tail.rows = pass.rows;
    tail.put(update);
    if (pass.rows == 0) return;
    if (adaptive()) {
      put_adaptive(pass, v, update);
    } else {
      put_change(pass, v, update);
    }
  }

  int max_lag() const override { return kAnyLag; }

  StageName absorb(const exchange::Update& total, Outcome& outcome) override {
    return absorb_sgd(fit_, Tail::of(total), outcome, [&] {
      const std::span<const double> rows = all_rows(total, kFeatures, scratch_);
      const std::span<const double> rest = total.dense<double>(kRest);
      fit_.coordinates.enter(fit_.problem, fit_.w);
      before_.clear();
      if (fit_.lag > 0) before_ = fit_.w;
      if (adaptive()) {
        average_adaptive(rows, rest);
      } else {
        average(rows, rest);
      }
      step_late();
      fit_.coordinates.leave(fit_.problem, fit_.w);
    });
  }

 private:
  bool adaptive() const { return fit_.parameters.adaptive; }

  // Whole steps from a model that lags behind would swing round the optimum.
  void step_late() {
    if (fit_.lag == 1) fit_.late_steps.step(before_, fit_.w);
    if (fit_.lag <= 1) return;
    const double step = tables::good_step(fit_.lag);
    for (std::size_t i = 0; i < before_.size(); ++i) {
      fit_.w[i] = before_[i] + step * (fit_.w[i] - before_[i]);
    }
  }

  void put_change(const SgdResult& pass, std::span<const double> v,
                  exchange::Update& update) const {
    const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
    put_rows(update, kFeatures, [&](std::int64_t column, double* to) {
      for (std::size_t c = 0; c < C; ++c) {
        const std::size_t i = static_cast<std::size_t>(column) * C + c;
        to[c] = pass.v[i] - pass.shrink * v[i];
      }
    });
    const std::span<double> rest = update.dense<double>(kRest);
    for (std::size_t c = 0; c < C; ++c) rest[c] = pass.v[features + c] - v[features + c];
    rest[C] = pass.shrink;
    rest[C + 1] = 1;
  }

  void put_adaptive(const SgdResult& pass, std::span<const double> v,
                    exchange::Update& update) const {
    const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
    const auto put = [&](std::size_t first, double* to) {
      for (std::size_t c = 0; c < C; ++c) {
        const std::size_t i = first + c;
        // Passes over sparse rows keep squares as floats.
        const double had =
            fit_.dense ? fit_.squares[i] : static_cast<double>(static_cast<float>(fit_.squares[i]));
        const double gained = pass.squares[i] - had;
        to[c] = gained * (pass.v[i] - v[i]);
        to[C + c] = gained;
      }
    };
    put_rows(update, kFeatures, [&](std::int64_t column, double* to) {
      put(static_cast<std::size_t>(column) * C, to);
    });
    const std::span<double> rest = update.dense<double>(kRest);
    put(features, rest.data());
    rest[2 * C] = 1;
  }

  void average(std::span<const double> rows, std::span<const double> rest) {
    const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
    std::vector<double>& w = fit_.w;
    const double shrink = rest[C] / rest[C + 1], shards = rest[C + 1];
    for (std::size_t i = 0; i < features; ++i) w[i] = rows[i] / shards + shrink * w[i];
    for (std::size_t c = 0; c < C; ++c) w[features + c] += rest[c] / shards;
    if (fit_.parameters.l1 == 0) return;
    // A mean is zero only where all are: weights that one step's penalty would end, end here.
    const double step = fit_.sgd_options().rate * fit_.parameters.l1;
    const std::vector<double>& factor = fit_.coordinates.penalty;
    for (std::size_t i = 0; i < features; ++i) {
      w[i] = soft(w[i], factor.empty() ? step : step * factor[i / C]);
    }
  }

  void average_adaptive(std::span<const double> rows, std::span<const double> rest) {
    const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
    const double shards = rest[2 * C], rows_each = fit_.progress.rows / shards;
    const auto take = [&](std::size_t first, const double* total) {
      for (std::size_t c = 0; c < C; ++c) {
        const std::size_t i = first + c;
        double &w = fit_.w[i], &squares = fit_.squares[i];
        const double gained = total[C + c];
        if (gained > 0) {
          w += total[c] / gained;
        } else if (squares > 0 && i < features) {
          // No shard moved it, so all agree on what the penalties do to it.
          const double rate = fit_.progress.rate / std::sqrt(squares + 1e-12) * rows_each;
          w = soft(w, rate * fit_.parameters.l1) / (1 + rate * fit_.parameters.l2);
        }
        squares += gained / shards;
      }
    };
    for (std::size_t i = 0; i < features; i += C) take(i, rows.data() + 2 * i);
    take(features, rest.data());
  }

  std::vector<double> scratch_;
  std::vector<double> before_;  // the model that a late step starts from
};

}  // namespace

std::unique_ptr<LinearStage> model_stage(Fit& fit) { return std::make_unique<ModelStage>(fit); }

}  // namespace meanwhile::learn::linear
