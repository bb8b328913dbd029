// Loopy belief propagation: marginals of a factor graph (sum-product) or its most probable state
// (max-product), and Bethe's log Z. Exact on forests.
//
//   belief(i)  = field(i) + sum of messages into i         the sum that the exchange makes
//   cavity     = belief(i) - own message                   what a factor hears from i
//   message    = log of sum of table * exp(cavities)       messages.h
//
// A shard sends the sum of its new messages to each variable; messages stay in the shard's memory.
// With a grid (facts.h) sums are exact: marginals depend neither on shards nor on workers, and a
// sum that is patched (residual) equals one that is made afresh.
//
// Thread safety: as RoundLearner.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/learn/belief/contract.h"
#include "meanwhile/learn/belief/course.h"
#include "meanwhile/learn/belief/facts.h"
#include "meanwhile/learn/belief/parameters.h"
#include "meanwhile/learn/belief/shard_factors.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::belief {

// The memory of a shard: the values of its messages, in order of row and scope. In a model of
// ratios the second half is unused.
inline constexpr char kMessages[] = "messages";

class Belief final : public RoundLearner {
 public:
  explicit Belief(const Parameters& parameters);
  ~Belief() override;

  std::string name() const override { return "belief"; }
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  MemoryShape memory_shape(int shard) const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  std::int64_t rounds_left() const override { return course_.rounds_left(); }
  bool seeks_convergence() const override { return true; }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;

  // The marginals, or max-marginals, variable by variable, scaled to a sum of 1: of the best
  // attempt that has ended.
  std::span<const double> marginals() const { return marginals_; }
  const Facts& facts() const { return facts_; }
  const Course& progress() const { return course_; }

 private:
  struct Cached;

  void work_messages(Cached& shard, ShardMemory& memory, exchange::Update& update);
  void work_residual(Cached& shard, std::span<double> messages, exchange::Update& update);
  void find_stale(Cached& shard);
  void work_check(Cached& shard, std::span<const double> messages, exchange::Update& update);
  void work_score(int shard, std::span<const double> messages, exchange::Update& update);
  void add_fields(int shard, exchange::Update& update) const;
  Cached& cached(int shard);

  void take_fields(const exchange::Update& total);
  void take_sums(const exchange::Update& total);
  void take_sweep(const exchange::Update& total);
  void take_changes(const exchange::Update& total);
  void take_check(const exchange::Update& total);
  void take_score(const exchange::Update& total);
  void break_ties();
  void begin_attempt();
  // THROWS Error(kInput) when no state of the variable is possible.
  void check_possible(std::size_t variable) const;
  void check_all_possible() const;
  double weights_of(std::size_t variable, std::vector<double>& weights) const;
  // Returns the terms of variables in log Z.
  double make_marginals(std::vector<double>& marginals) const;
  Json record() const;

  // THROWS Error(kInput) when the row is no factor, or not one of this state.
  void check_row(const data::Sparse<double>& factors, std::int64_t row) const;
  Marginal how() const;
  data::RowRange rows_of(int shard) const;
  const data::Sparse<double>& rows() const;

  const Parameters parameters_;
  Attachment attachment_;
  std::int64_t variables_ = 0;
  std::vector<std::int64_t> memory_values_;      // of each shard held
  std::vector<std::unique_ptr<Cached>> cached_;  // of each shard; made when it is first used

  Facts facts_;
  Course course_;
  // Like the values of facts_.start.
  std::vector<double> field_, belief_;
  std::vector<std::int64_t> field_zeros_, zeros_;  // empty: there are none
  std::int64_t version_ = 0;  // of the beliefs: counts the rounds here that changed them
  // For residual: variables whose beliefs the last round changed, and the variable of each value.
  std::vector<std::uint32_t> changed_, owner_;
  std::vector<double> marginals_, found_;  // of the best attempt, and of the last one
  struct Worst {
    std::int64_t variable = 0;
    double residual = 0;
  };
  std::vector<Worst> worst_, best_worst_;
  mutable std::vector<double> shown_;  // of state()
  Ended ended_;
};

}  // namespace meanwhile::learn::belief
