// Steps whose updates are made in turns (turns.h).
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "meanwhile/runtime/storage/shard_runner.h"

namespace meanwhile::runtime {

std::vector<int> ShardRunner::late_in_turns() const {
  if (table_step_ != nullptr) return table_step_->missing();
  return stretch_ != nullptr ? stretch_->last() : std::vector<int>();
}

Advanced ShardRunner::advance(const std::set<int>& shards, const std::set<int>& held, double now_s,
                              const std::function<bool()>& goes_on, const Use& use) {
  return in_stretch() ? advance_stretch(shards, held, now_s, use)
                      : advance_tables(shards, held, now_s, goes_on, use);
}

Advanced ShardRunner::advance_stretch(const std::set<int>& shards, const std::set<int>& held,
                                      double now_s, const Use& use) {
  if (stretch_ == nullptr) {
    stretch_state_ = state_of_step();
    const auto attach = [this](int shard) {
      return attached(data::SafetensorsFile(stretch_state_, "state"), {shard}, alone_);
    };
    const auto fails = [this](const std::string& what, const std::function<void()>& step) {
      fail_job(where() + what, step);
    };
    stretch_ =
        std::make_unique<StretchRunner>(blobs_, names_, step_, *fresh(), pool_, attach, fails);
  }
  stretch_->keep_only(shards);  // before their rows go
  drop_rows(held, shards);
  load(shards);
  const std::set<int> here = without(shards, without(shards, loaded_));
  Advanced advanced = stretch_->advance(here, now_s);
  for (const int shard : advanced.over) {
    exchange::Update update(update_shape());
    stretch_->put_update(shard, update);
    if (!use(shard, update)) break;
  }
  if (missing_blob_.empty()) missing_blob_ = stretch_->unreadable();
  return advanced;
}

Advanced ShardRunner::advance_tables(const std::set<int>& shards, std::set<int> held, double now_s,
                                     const std::function<bool()>& goes_on, const Use& use) {
  slices_.look(step_, now_s);
  missing_blob_.clear();
  if (table_step_ == nullptr) {
    slices_.count_anew();
    table_step_ =
        std::make_unique<TableStep>(blobs_, job_, step_, *stored_tables(*learner_), pool_);
  }
  TableStep& step = *table_step_;
  step.keep_only(shards);
  Advanced advanced;
  advanced.arrived = step.look();
  if (const std::set<int> open = step.open(shards); !open.empty()) {
    // A shard whose deltas were lost is worked on again: not with the caches of this step.
    for (const int shard : open) {
      if (caches_.worked.count(shard) != 0) held.erase(shard);
    }
    std::atomic<std::int64_t> done = 0;
    work(
        open, held,
        [&](learn::RoundLearner& learner, int shard, exchange::Update& update) {
          step.put(shard, std::move(update), stored_tables(learner)->take_delta(shard));
          ++done;
          return goes_on();
        },
        false);
    advanced.turns = done;
  }
  for (const int shard : shards) {
    const auto update = step.finish(shard, now_s);
    if (!update) continue;
    advanced.over.push_back(shard);
    if (!use(shard, *update)) break;
  }
  if (missing_blob_.empty()) missing_blob_ = slices_.missing();
  if (missing_blob_.empty()) missing_blob_ = step.unreadable();
  return advanced;
}

}  // namespace meanwhile::runtime
