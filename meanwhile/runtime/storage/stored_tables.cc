#include "meanwhile/runtime/storage/stored_tables.h"

#include <atomic>
#include <utility>

#include "meanwhile/runtime/storage/job_failed.h"
#include "meanwhile/tables/wanted_rows.h"

namespace meanwhile::runtime {

StoredTables::StoredTables(std::unique_ptr<learn::RoundLearner> learner, SliceBlobs& slices,
                           const data::SafetensorsFile& state)
    : learner_(std::move(learner)), slices_(slices), versions_(state) {}

learn::State StoredTables::state() const {
  learn::State state = learner_->state();
  versions_.add_to(state, *set_);
  return state;
}

void StoredTables::restore(const data::SafetensorsFile& file) {
  learner_->restore(file);
  versions_ = SliceVersions(file);
}

void StoredTables::attach(const learn::Attachment& attachment) {
  learner_->attach(attachment);
  pool_ = attachment.pool;
  set_.emplace(learner_->table_work()->tables());
  versions_.check(*set_, "state");
}

exchange::UpdateShape StoredTables::update_shape() const {
  exchange::UpdateShape shape = learner_->update_shape();
  shape.push_back(SliceVersions::block(*set_));
  return shape;
}

std::size_t StoredTables::fetch(std::span<const int> shards) {
  held_.reset();
  std::vector<tables::Wants> wants;
  std::int64_t room = slices_.memory_bytes();
  for (const int shard : shards) {
    tables::Wants of(set_->tables.size());
    fail_job(fmt::format("shard {}", shard), [&] { learner_->table_work()->wants(shard, of); });
    of.settle();
    for (std::size_t t = 0; t < set_->tables.size(); ++t) {
      room -= tables::fetched_bytes(set_->tables[t], std::ssize(of.rows(static_cast<int>(t))));
    }
    if (room < 0 && std::ssize(wants) >= pool_->size()) break;
    wants.push_back(std::move(of));
  }
  held_ = slices_.rows(*set_, versions_, wants, *pool_);
  return held_ == nullptr ? 0 : wants.size();
}

void StoredTables::work(int shard, learn::ShardMemory& memory, exchange::Update& update) {
  tables::Delta delta(set_->tables);
  learner_->table_work()->work(shard, memory, tables::View(set_->tables, *held_), delta, update);
  std::vector<tables::SealedDelta> sealed = delta.seal(set_->slices);
  base::MutexLock lock(mutex_);
  deltas_[shard] = std::move(sealed);
}

std::vector<tables::SealedDelta> StoredTables::take_delta(int shard) {
  base::MutexLock lock(mutex_);
  const auto found = deltas_.find(shard);
  if (found == deltas_.end()) return {};
  std::vector<tables::SealedDelta> delta = std::move(found->second);
  deltas_.erase(found);
  return delta;
}

learn::Outcome StoredTables::absorb(const exchange::Update& total) {
  {
    base::MutexLock lock(mutex_);
    deltas_.clear();
  }
  held_.reset();
  versions_.take(total, version_block());
  return learner_->absorb(total);
}

StoredTables* stored_tables(learn::RoundLearner& learner) {
  return learner.table_work() == nullptr ? nullptr : static_cast<StoredTables*>(&learner);
}

std::string each_shard(learn::RoundLearner& learner, std::span<const int> shards,
                       base::ThreadPool& pool, const std::function<bool(int shard)>& work) {
  StoredTables* const tables = stored_tables(learner);
  std::atomic<bool> stopped = false;
  while (!shards.empty() && !stopped) {
    const std::size_t count = tables == nullptr ? shards.size() : tables->fetch(shards);
    if (count == 0) return tables->slices().missing();
    pool.run(static_cast<std::int64_t>(count), [&](std::int64_t i, int) {
      if (!stopped && !work(shards[static_cast<std::size_t>(i)])) stopped = true;
    });
    shards = shards.subspan(count);
  }
  return "";
}

}  // namespace meanwhile::runtime
