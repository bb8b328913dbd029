// Alternating least squares as rounds.
//
//   facts    mean of the ratings, weight of each item's
//   users    each shard solves its users given all items, and adds what is left for each item
//   items    a step of conjugate gradient for all items at once: each shard adds what its users say
//            of the direction. Without steps: the normal equations of a stretch of items
//   score    the objective of the model
//
//   facts -> (users -> items -> ... -> items) again and again -> score
//
// Steps for items go through the sum, since the ratings of an item lie in all shards: a step costs
// a row of factors for each item, where its normal equations would cost a matrix. Users' factors
// are sent once a pass, and every worker knows all of them, so that every state is a whole model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/learn/factorize/normal.h"
#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/ratings.h"
#include "meanwhile/learn/factorize/shard_items.h"
#include "meanwhile/learn/factorize/trained.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::factorize {

enum class AlsPhase { kFacts, kUsers, kItems, kScore };
inline constexpr Named<AlsPhase> kAlsPhases[] = {{AlsPhase::kFacts, "facts"},
                                                 {AlsPhase::kUsers, "users"},
                                                 {AlsPhase::kItems, "items"},
                                                 {AlsPhase::kScore, "score"}};
constexpr std::span<const Named<AlsPhase>> names(AlsPhase) { return kAlsPhases; }

class Als final : public RoundLearner {
 public:
  explicit Als(Parameters parameters);

  std::string name() const override;
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  std::int64_t rounds_left() const override;
  bool seeks_convergence() const override { return true; }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;

 private:
  struct Progress {
    AlsPhase phase = AlsPhase::kFacts;
    std::int64_t pass = 0, step = 0;  // passes done; rounds of kItems done in this one
    double mean = 0, weight = 0, ratings = 0;
    double objective = 0;       // of the present model, as a sum
    double pass_objective = 0;  // when this pass began
    double squares = 0;         // weighted squared errors, when this pass began
    Ended ended = {};
  };
  // The cache of a shard that is held here.
  struct Held {
    ShardItems by_item;
    bool made = false;
  };

  bool is_explicit() const { return parameters_.feedback == Feedback::kExplicit; }
  bool is_exact() const { return parameters_.cg_steps == 0; }
  std::size_t factors() const { return static_cast<std::size_t>(parameters_.n_factors); }
  std::size_t numbers() const { return factors() + (biased_ ? 1 : 0); }  // solved for, a row
  std::int64_t items() const { return ratings_.items(); }
  std::int64_t users() const { return first_user_.back(); }
  double ridge(double weight) const { return parameters_.l2 * (is_explicit() ? weight : 1); }
  double item_ridge(std::size_t item) const {
    return ridge(item_weight_.empty() ? 1 : item_weight_[item]);
  }
  data::RowRange rows_of(int shard) const;
  const ShardItems& by_item(int shard, ShardItems& made);
  exchange::Block items_block(std::int64_t items, std::size_t width, exchange::Element) const;
  std::int64_t items_at_once() const;  // of exact solutions
  std::int64_t rounds_of_items() const;

  // als_work.cc
  void work_facts(int shard, exchange::Update& update) const;
  void work_users(int shard, exchange::Update& update);
  void work_items(int shard, exchange::Update& update);
  void work_equations(int shard, exchange::Update& update);
  void work_score(int shard, exchange::Update& update) const;
  // a and b of ratings (normal.h), and their part of the objective that is no function of products.
  // `bias`, of the other side: of rating j, or null.
  struct Terms {
    std::vector<float> a, b;
    double weight = 0;
  };
  template <class Bias>
  void set_terms(std::span<const float> ratings, std::span<const float> weights, const Bias& bias,
                 Terms& terms) const;
  // The squared errors of these ratings: weighted, and for implicit feedback without those of the
  // pairs that have no count.
  double loss(const Terms& terms, std::span<const float> products) const;

  // als.cc
  void start(const exchange::Update& total);
  void make_item_gram();
  double gram_product() const;  // sum over all pairs of squared products
  double item_penalty() const;
  void absorb_users(const exchange::Update& total, Outcome& outcome);
  void absorb_step(const exchange::Update& total, Outcome& outcome);
  void absorb_equations(const exchange::Update& total, Outcome& outcome);
  void absorb_score(const exchange::Update& total, Outcome& outcome);
  void end_pass(Outcome& outcome);
  // Calls use(item) for all items, which returns a number, and returns their sum in one order.
  template <class Use>
  double over_items(const Use& use) const;

  Parameters parameters_;
  const bool biased_;
  const std::size_t width_;  // of a row of a table
  Attachment attachment_;
  Ratings ratings_;
  std::vector<std::int64_t> first_user_ = {0};
  std::vector<Held> held_;  // by shard

  // Rows of factors, then 1 where there are biases: what the other side multiplies.
  std::vector<float> user_table_, item_table_;
  std::vector<float> user_bias_, item_bias_;
  std::vector<double> item_weight_;  // explicit: of its ratings
  std::vector<double> user_gram_;    // implicit: width x width
  std::vector<double> item_gram_;    // of item_table_
  std::vector<float> user_gram32_, item_gram32_;
  std::vector<float> residual_, direction_;  // of each item, width
  std::vector<float> left_;                  // of each item: its squared residual
  Progress progress_;
  Names user_names_, item_names_;
  mutable Trained shown_;  // what a state borrows
};

}  // namespace meanwhile::learn::factorize
