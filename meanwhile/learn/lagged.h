// A learner whose rounds overlap: work() of round t reads the model that has absorbed all totals
// but those of the last `lag` rounds before t.
//
//   round        0     1     2     3    ...        with lag 1
//   work reads   m0    m0    m1    m2   ...        m1 = m0 with the total of round 0 absorbed
//   absorbs      -     0     1     2    ...
//
// So the exchange of a round may go on while the next round is worked on, and the model still
// depends on nothing but data, parameters, seed, shards and lag. Totals that wait are part of the
// state: a run that is resumed, and a worker that joins, continue with the same bits.
//
// A model that is pulled all the way to where an older one wants it overshoots: learners are told
// of the lag, and step with care (learn/linear/late_steps.h).
//
// The last rounds are absorbed one by one, without work: short rounds with an empty update. Stages
// that allow no lag (statistics, line searches, scores) run as if there were none; rounds that
// began before such a stage, or before the learner went back to an earlier model, are dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/exchange/update_file.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn {

class LaggedLearner final : public RoundLearner {
 public:
  // `lag`: rounds, at most those that `learner` allows. `state`: the file that `learner` was
  // restored from, for the totals that wait; null: it begins.
  // THROWS Error(kInput) when the file names totals that it does not hold.
  LaggedLearner(std::unique_ptr<RoundLearner> learner, int lag,
                const data::SafetensorsFile* state = nullptr);
  ~LaggedLearner() override;

  std::string name() const override { return learner_->name(); }
  std::int64_t rounds_left() const override { return learner_->rounds_left(); }
  bool seeks_convergence() const override { return learner_->seeks_convergence(); }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override { return learner_->cost(shape); }
  std::vector<Stretch> course(const Shape& shape) const override { return learner_->course(shape); }
  double memory_bytes(const Shape& shape, const Division& division) const override {
    return learner_->memory_bytes(shape, division);
  }

  // THROWS what the learner throws; Error(kInput) when a total that waits is of another shape.
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  MemoryShape memory_shape(int shard) const override { return learner_->memory_shape(shard); }
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  // The outcome of the round that was absorbed; of kind Phase::kPrepare when the total waits and no
  // round was.
  Outcome absorb(const exchange::Update& total) override;
  int max_lag() const override { return learner_->max_lag(); }
  bool may_run_ahead() const override { return !drains_ && present_lag() > 0; }
  bool run_ahead() override;

  int mirrored_blocks() const override { return learner_->mirrored_blocks(); }
  std::vector<std::int64_t> needed_rows() const override { return learner_->needed_rows(); }
  exchange::UpdateShape model_shape() const override { return learner_->model_shape(); }
  void put_model(int shard, exchange::Update& update) const override {
    learner_->put_model(shard, update);
  }
  void take_model(const exchange::Update& total) override { learner_->take_model(total); }

 private:
  int present_lag() const { return std::min(lag_, learner_->max_lag()); }
  int waiting() const { return static_cast<int>(waiting_.size()); }
  Outcome absorb_first();
  void settle();
  void read_waiting(const data::SafetensorsFile& file);

  const std::unique_ptr<RoundLearner> learner_;
  const int lag_;
  std::deque<exchange::Update> waiting_;  // totals, the oldest first
  std::vector<exchange::Update> free_;    // their memory, to be used again
  bool drains_ = false;                   // the coming round absorbs a total, without work
  bool dropped_ = false;                  // what began before the last absorbed round is of no use
  // After run_ahead(): what absorb() is to return.
  std::optional<Outcome> ahead_;
  // The totals of a state that was read, until attach() knows their shape.
  std::list<std::vector<std::byte>> read_;
  mutable std::list<exchange::UpdateTensors> tensors_;  // what state() lends
};

// `learner` itself, where `lag` is 0 and `state` has no totals that wait.
std::unique_ptr<RoundLearner> with_lag(std::unique_ptr<RoundLearner> learner, int lag,
                                       const data::SafetensorsFile* state = nullptr);

}  // namespace meanwhile::learn
