// The work of a worker: the rows of its shards, and the learner that works on them round after
// round.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/shard_buffer.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/job_failed.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/shard_memories.h"
#include "meanwhile/runtime/storage/stretch.h"
#include "meanwhile/runtime/storage/table_step.h"
#include "meanwhile/runtime/storage/turns.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// A learner that goes on from a state, with the parameters of the job. A learn::FreshLearner, if
// the job is fresh.
using MakeLearner =
    std::function<std::unique_ptr<learn::RoundLearner>(const data::SafetensorsFile& state)>;

// Thread safety: one thread at a time.
class ShardRunner {
 public:
  // Everything is borrowed. `memory_limit_bytes`: parts of it are for rows of tables.
  ShardRunner(storage::BlobStore& blobs, const JobRecord& job, const MakeLearner& make, int threads,
              std::int64_t memory_limit_bytes);

  // Goes on from the newest state in the store; false when there is none newer than step().
  // THROWS JobFailed; what the store throws.
  bool catch_up();

  std::int64_t step() const { return step_; }      // to be done next; -1 before catch_up()
  std::int64_t rounds() const { return rounds_; }  // of training, done
  std::int64_t rounds_left() const { return learner_->rounds_left(); }
  // Metadata of the state that this runner began from.
  const data::Metadata& state_metadata() const { return state_metadata_; }
  exchange::UpdateShape update_shape() const {
    return ahead_ ? ahead_->shape : learner_->update_shape();
  }
  int threads() const { return pool_.size(); }

  // Calls use(shard, update) for each of `shards` whose rows are there, on several threads; after
  // one call returns false no more are begun. The rows are kept for the rounds to come if the shard
  // is in `held`. Returns false when the rows of none of them are to be had yet: see
  // missing_blob(). THROWS JobFailed; Error(kInterrupted) when the rows are gone, as the job is;
  // what the store and `use` throw.
  using Use = std::function<bool(int shard, const exchange::Update& update)>;
  bool work(const std::set<int>& shards, const std::set<int>& held, const Use& use);
  // Whether work_ahead() may be of use: asks the learner to run ahead, once in a step. After that,
  // work() on this step goes on from the state that the learner had before.
  bool runs_ahead();
  // The answer of runs_ahead() in this step; false before.
  bool is_ahead() const { return ahead_ && ahead_->works; }
  // As work(), for the step after this one. REQUIRES: is_ahead().
  bool work_ahead(const std::set<int>& shards, const std::set<int>& held, const Use& use);
  // Whether this step is a stretch of clocks.
  bool in_stretch() const { return fresh() != nullptr && fresh()->in_stretch(); }
  bool has_tables() const { return learner_->table_work() != nullptr; }
  // Whether advance() makes the updates of this step, not work().
  bool is_in_turns() const { return in_stretch() || has_tables(); }
  // Does the next turns of those of `shards` whose rows are there and which may begin one, and
  // calls use(shard, update) for shards whose turns are all done. Begins no more once `goes_on`
  // returns false. THROWS as work(). REQUIRES: is_in_turns().
  Advanced advance(const std::set<int>& shards, const std::set<int>& held, double now_s,
                   const std::function<bool()>& goes_on, const Use& use);
  // Shards whose turns others wait for: of a stretch, as StretchRunner::last(). Empty when there
  // are none.
  std::vector<int> late_in_turns() const;
  // Rows and bytes of tables that this worker moved in the step. REQUIRES: has_tables().
  Json table_traffic() const { return to_json(slices_.traffic()); }
  // The reads that the job made so far; null: they are not fresh.
  const tables::ReadsLog* reads() const { return fresh() == nullptr ? nullptr : &fresh()->log(); }
  // The first blob of rows or memory that the last work() did not find whole; empty when it found
  // all.
  const std::string& missing_blob() const { return missing_blob_; }

  // The total of this step in a blob. THROWS JobFailed when it has another shape.
  exchange::Update total_of(const data::SafetensorsFile& file) const;
  // The next step. Returns what was settled: a stretch has many rounds. THROWS JobFailed.
  using Settled = learn::FreshLearner::Settled;
  std::vector<Settled> absorb(const exchange::Update& total);

  // Whether shards have memory: all or none.
  bool has_memory() const { return !learner_->memory_shape(0).empty(); }
  // Whether the memory before step() is to be saved.
  bool saves_memory() const { return step_ > 0 && step_ % job_.memory_every == 0 && has_memory(); }
  // Names and contents of the blobs that save the memory of the shards worked on here.
  std::vector<std::pair<std::string, storage::Bytes>> memory_blobs() const {
    return memories_.blobs(step_);
  }
  // Calls use(shard, blob) with the memory before step() of each of `shards`, on several threads.
  // Leaves out shards whose rows or memory are not to be had yet: see missing_blob(). THROWS as
  // work().
  void each_memory(const std::set<int>& shards,
                   const std::function<void(int shard, const storage::Bytes& blob)>& use);

  // The present state, as a blob; `more` goes into its metadata. REQUIRES: the learner has not run
  // ahead since the last absorb().
  storage::Bytes state(data::Metadata more = {}) const;
  // The hash of what was learned.
  std::string model_sha256() const;

 private:
  // Shards of a step that the main learner is attached to.
  struct Caches {
    // Their caches in the main learner are those of the step. A shard that was left out of a round,
    // because another worker had done it, may not be worked on with them again.
    std::set<int> attached;
    std::set<int> worked;  // of these: worked on in the step
    bool begun = false;    // the step was begun with the main learner
  };
  // The learner has run ahead: the main one is at the step after this.
  struct Ahead {
    storage::Bytes state;  // before that
    exchange::UpdateShape shape;
    bool works = false;  // the step after this does without the total of this
    Caches caches;       // of the step after this
  };

  const learn::FreshLearner* fresh() const {
    return job_.fresh ? static_cast<const learn::FreshLearner*>(learner_) : nullptr;
  }
  static std::set<int> without(const std::set<int>& all, const std::set<int>& some);
  // With the columns that the rows were made from.
  learn::State whole_state() const;
  storage::Bytes state_of_step() const;
  void load(const std::set<int>& shards);
  std::string load_one(int shard);
  std::optional<data::Dataset> rows_of(const std::string& name);
  std::unique_ptr<AttachedLearner> attached(const data::SafetensorsFile& state,
                                            const std::set<int>& shards, base::ThreadPool& pool);
  void drop_rows(const std::set<int>& held, const std::set<int>& shards);
  void remember(std::set<int>& shards);
  void bring_memory_on();
  std::unique_ptr<AttachedLearner> learner_for(const std::set<int>& shards, bool ahead);
  // As Use, with the learner that worked on the shard. The update may be moved from.
  using Made = std::function<bool(learn::RoundLearner& learner, int shard, exchange::Update&)>;
  static Made made(const Use& use);
  bool work(const std::set<int>& shards, const std::set<int>& held, const Made& made, bool ahead);
  void run(learn::RoundLearner& learner, const std::set<int>& shards, Caches& caches,
           const Made& made);
  Advanced advance_stretch(const std::set<int>& shards, const std::set<int>& held, double now_s,
                           const Use& use);
  Advanced advance_tables(const std::set<int>& shards, std::set<int> held, double now_s,
                          const std::function<bool()>& goes_on, const Use& use);
  void begin_step();
  std::string where() const;

  storage::BlobStore& blobs_;
  const JobRecord& job_;
  const Names names_;
  const MakeLearner& make_;
  base::ThreadPool pool_;
  base::ThreadPool alone_{1};  // of learners that look at models inside of tasks of pool_
  data::ShardBuffer rows_;
  std::optional<data::ShardBuffer> eval_rows_;
  std::set<int> loaded_;
  std::string missing_blob_;

  SliceBlobs slices_;  // of tables, where the learner has some
  std::int64_t step_ = -1, rounds_ = 0;
  data::Metadata state_metadata_;
  std::unique_ptr<AttachedLearner> main_;   // stays where it is: the learner borrows the parts
  learn::RoundLearner* learner_ = nullptr;  // of main_
  ShardMemories memories_;
  base::Mutex worked_mutex_;  // guards Caches::worked while shards are worked on
  Caches caches_;             // of this step
  std::optional<Ahead> ahead_;
  storage::Bytes stretch_state_;            // before the step
  std::unique_ptr<StretchRunner> stretch_;  // null: not begun
  std::unique_ptr<TableStep> table_step_;   // the same
};

}  // namespace meanwhile::runtime
