// Matrix factorisation by stochastic gradient descent, with rotation: see sgd.cc.
//
// Thread safety: as RoundLearner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/base/large_pages.h"
#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/ratings.h"
#include "meanwhile/learn/factorize/sgd_kernel.h"
#include "meanwhile/learn/factorize/sgd_ratings.h"
#include "meanwhile/learn/factorize/trained.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/tables/rotation.h"

namespace meanwhile::learn::factorize {

// The work of the coming round: counts ratings, begins the memory of shards, takes a step of the
// rotation, collects what shards know of their users.
enum class SgdStage { kCount, kBegin, kStep, kGather };
inline constexpr Named<SgdStage> kSgdStages[] = {{SgdStage::kCount, "count"},
                                                 {SgdStage::kBegin, "begin"},
                                                 {SgdStage::kStep, "step"},
                                                 {SgdStage::kGather, "gather"}};
constexpr std::span<const Named<SgdStage>> names(SgdStage) { return kSgdStages; }

class Sgd final : public RoundLearner {
 public:
  // THROWS Error(kUsage) when the parameters are not for SGD.
  explicit Sgd(const Parameters& parameters);
  ~Sgd() override;

  std::string name() const override;
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  MemoryShape memory_shape(int shard) const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  std::int64_t rounds_left() const override;
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;

 private:
  // Blocks of an update. Rows travel only where there are other workers.
  static constexpr int kSums = 0, kCounts = 1, kItemRows = 1, kUserRows = 1;
  struct Users;  // of a shard, in its memory

  void work_count(int shard, exchange::Update& update) const;
  void work_begin(int shard, Users users) const;
  void work_step(int shard, Users users, exchange::Update& update);
  void work_gather(int shard, Users users, exchange::Update& update);
  void take_counts(const exchange::Update& total);
  void take_step(const exchange::Update& total, Outcome& outcome);
  void take_users(const exchange::Update& total, Outcome& outcome);
  void end_pass(double mean_square);

  void make_places();
  SgdRule rule() const;
  RatingScale scale() const { return {parameters_.biases ? mean_ : 0, scale_}; }
  Users users_of(ShardMemory& memory) const;
  data::RowRange rows_of(int shard) const;
  // Cells of the shard that hold `block`; where data is to be released, in `fresh`.
  const SgdCells& cells(int shard, int block, SgdCells& fresh);
  int shards() const { return static_cast<int>(cells_.size()); }

  const Parameters parameters_;
  const std::size_t width_;
  Attachment attachment_;
  Ratings ratings_;
  std::vector<std::int64_t> first_user_;          // of each shard
  std::vector<std::unique_ptr<SgdCells>> cells_;  // of each shard; made when first used
  std::unique_ptr<const tables::Rotation> rotation_;

  SgdStage stage_ = SgdStage::kCount;
  std::int64_t pass_ = 0, step_ = 0;  // of the rotation
  std::int64_t shards_ = 0;           // steps of a pass; 0: not known yet
  double ratings_total_ = 0, mean_ = 0, scale_ = 1;
  double errors_ = 0;                 // of this pass so far: the sum of squares
  double before_ = -1;                // mean square of the pass before; -1: there was none
  std::vector<std::int64_t> counts_;  // of ratings, by item
  ItemPlaces places_;
  // By place.
  base::LargeVector<float> item_factors_;
  std::vector<SgdRow> item_rows_;
  Ended ended_;
  std::vector<float> restored_items_;  // of a state, until data is attached
  Trained trained_;                    // as of the last round that gathered
  mutable std::vector<float> shown_;
};

}  // namespace meanwhile::learn::factorize
