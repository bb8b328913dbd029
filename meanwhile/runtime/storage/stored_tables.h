// A learner with tables (learn/table_work.h), as the learner of rounds that a worker at a store
// drives: rows come from slices in blobs, versions of slices are a part of the state and of
// updates, and what a shard adds is kept until it is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/table_work.h"
#include "meanwhile/runtime/storage/slice_blobs.h"

namespace meanwhile::runtime {

class StoredTables final : public learn::RoundLearner {
 public:
  // Borrows `slices`. `state`: the file that the learner was restored from. REQUIRES: the learner
  // has tables. THROWS Error(kInput) when the state names no versions.
  StoredTables(std::unique_ptr<learn::RoundLearner> learner, SliceBlobs& slices,
               const data::SafetensorsFile& state);

  std::string name() const override { return learner_->name(); }
  std::int64_t rounds_left() const override { return learner_->rounds_left(); }
  bool seeks_convergence() const override { return learner_->seeks_convergence(); }
  learn::State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  learn::Cost cost(const learn::Shape& shape) const override { return learner_->cost(shape); }
  std::vector<learn::Stretch> course(const learn::Shape& shape) const override {
    return learner_->course(shape);
  }
  double memory_bytes(const learn::Shape& shape, const learn::Division& division) const override {
    return learner_->memory_bytes(shape, division);
  }

  void attach(const learn::Attachment& attachment) override;
  // With a block of versions behind those of the learner.
  exchange::UpdateShape update_shape() const override;
  learn::MemoryShape memory_shape(int shard) const override {
    return learner_->memory_shape(shard);
  }
  // REQUIRES: fetch() has the rows of the shard. Leaves the block of versions alone.
  void work(int shard, learn::ShardMemory& memory, exchange::Update& update) override;
  learn::Outcome absorb(const exchange::Update& total) override;
  learn::TableWork* table_work() override { return learner_->table_work(); }

  // Fetches the rows that the first of `shards` want, as many shards as memory allows and at least
  // one for each thread. Returns how many; 0 when a slice is not to be had yet. THROWS as
  // SliceBlobs::rows().
  std::size_t fetch(std::span<const int> shards);
  // Changes that the shard made when it was last worked on. Thread safety: as work().
  std::vector<tables::SealedDelta> take_delta(int shard);

  const tables::TableSet& set() const { return *set_; }
  const SliceVersions& versions() const { return versions_; }
  SliceBlobs& slices() const { return slices_; }
  int version_block() const { return static_cast<int>(learner_->update_shape().size()); }

 private:
  const std::unique_ptr<learn::RoundLearner> learner_;
  SliceBlobs& slices_;
  SliceVersions versions_;
  base::ThreadPool* pool_ = nullptr;
  std::optional<tables::TableSet> set_;  // attached
  std::unique_ptr<tables::HeldRows> held_;
  base::Mutex mutex_;
  std::map<int, std::vector<tables::SealedDelta>> deltas_ MW_GUARDED_BY(mutex_);
};

// Null when the learner has no tables. REQUIRES: those that have are StoredTables.
StoredTables* stored_tables(learn::RoundLearner& learner);

// Calls work(shard) for each of the shards on the pool; rows of tables are fetched before. After a
// call has returned false no more are begun. Returns the name of a blob that is not to be had yet;
// empty when all were called. THROWS as StoredTables::fetch(), and what `work` throws.
std::string each_shard(learn::RoundLearner& learner, std::span<const int> shards,
                       base::ThreadPool& pool, const std::function<bool(int shard)>& work);

}  // namespace meanwhile::runtime
