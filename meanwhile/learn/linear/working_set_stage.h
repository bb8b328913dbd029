// The stage of working sets (working_set.h): begun, worked on and absorbed as any other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/learn/linear/working_set.h"

namespace meanwhile::learn::linear {

class WorkingSetStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kWorkingSet; }

  void begin() override;
  exchange::UpdateShape update_shape() const override;
  void work(int shard, exchange::Update& update) const override;
  StageName absorb(const exchange::Update& total, Outcome& outcome) override {
    if (set_.phase == WorkingSetPhase::kGram) {
      absorb_gram(total, outcome);
    } else {
      absorb_gradient(total, outcome);
    }
    number_columns();
    return StageName::kWorkingSet;
  }
  StageName finish(Outcome& outcome) override;
  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override;
  void save(State& state) const override { linear::save(set_, state, packed_gram_); }
  void load(const data::SafetensorsFile& file, const Json& progress) override {
    linear::load(set_, file, progress, fit_.w.size() - 1);
  }

 private:
  bool squared() const { return fit_.problem.loss.loss == Loss::kSquared; }
  std::size_t sides() const { return !squared() && fit_.problem.intercept ? 2 : 1; }
  std::size_t fresh() const { return set_.columns.size() - set_.known; }
  std::size_t most() const { return static_cast<std::size_t>(fit_.parameters.block); }
  double& intercept() { return fit_.w[fit_.problem.intercepts()]; }
  double intercept() const { return fit_.w[fit_.problem.intercepts()]; }
  double l1_of(std::size_t column) const { return fit_.l1() * fit_.penalty_of(column); }
  double l2_of(std::size_t column) const {
    const double factor = fit_.penalty_of(column);
    return fit_.parameters.l2 * factor * factor;
  }
  double norm_of(std::size_t column) const;
  bool is_constant(std::size_t column) const;
  std::vector<std::int32_t> all_live() const;
  void settle_null(const DualSums& sums, double objective);
  double target() const { return std::max(fit_.parameters.tol * set_.null_objective, set_.noise); }

  void absorb_gradient(const exchange::Update& total, Outcome& outcome);
  void read_gradient(const exchange::Update& total, const DualSums& sums);
  bool step_is_taken(double objective, Outcome& outcome);
  void measure_gap(const DualSums& sums, double objective);
  void screen();
  bool next_penalty(const Outcome& outcome);
  double violation_at(std::size_t place) const;
  void choose_block();
  void drop_from_block(std::size_t joining);
  void keep_in_block(const std::vector<std::size_t>& positions);
  void absorb_gram(const exchange::Update& total, Outcome& outcome);
  bool solve();
  void end(std::string because) { fit_.progress.ended = {Ending::kConverged, std::move(because)}; }
  void number_columns();

  WorkingSet set_;
  mutable std::vector<double> packed_gram_;

  // The last gradient, by live column; used within absorb().
  std::vector<double> gradient_;  // of the mean loss
  std::vector<DualColumn> dual_columns_;
  DualPoint dual_;
  std::vector<double> scratch_;

  // Follow from the above and the model.
  std::size_t all_columns_ = 0;  // that may be live
  Numbering numbering_;
  std::int64_t versions_ = 0;
  std::vector<double> w_;             // in the numbering
  std::vector<std::int32_t> places_;  // of live columns, in the numbering
  std::vector<std::int32_t> slots_;   // of the numbering's columns, in the block
  mutable std::vector<KeptRows> kept_;
};

}  // namespace meanwhile::learn::linear
