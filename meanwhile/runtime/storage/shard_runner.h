// The work service of a worker: the rows of its shards, and the learner that works on them round
// after round.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/shard_buffer.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// A learner that goes on from a state, with the parameters of the job.
using MakeLearner =
    std::function<std::unique_ptr<learn::RoundLearner>(const data::SafetensorsFile& state)>;

// The computation itself cannot go on, whoever does it.
class JobFailed : public base::Error {
 public:
  explicit JobFailed(const base::Error& error) : base::Error(error) {}
};

// Thread safety: one thread at a time.
class ShardRunner {
 public:
  // Everything is borrowed. `timeout_s`: how long to wait for a blob that must be there.
  ShardRunner(storage::BlobStore& blobs, const JobRecord& job, const MakeLearner& make, int threads,
              double timeout_s);

  // Goes on from the newest state in the store; false when there is none newer than step(). Waits
  // for the first one as long as `wait` says so.
  // THROWS Error(kFailed) when there is none at all within the time-out.
  bool catch_up(const std::function<bool()>& wait);

  std::int64_t step() const { return step_; }      // to be done next; -1 before catch_up()
  std::int64_t rounds() const { return rounds_; }  // of training, done
  std::int64_t rounds_left() const { return learner_->rounds_left(); }
  // What the state it began from carried along.
  const data::Metadata& carried() const { return carried_; }
  exchange::UpdateShape update_shape() const { return learner_->update_shape(); }
  int threads() const { return pool_.size(); }

  // Calls use(shard, update) for each of `shards`, on several threads; after one returns false no
  // more are begun. The shards are kept for the rounds to come if they are in `held`.
  // THROWS JobFailed; what the store and `use` throw.
  using Use = std::function<bool(int shard, const exchange::Update& update)>;
  void work(const std::set<int>& shards, const std::set<int>& held, const Use& use);

  // The total of this step in a blob. THROWS JobFailed when it has another shape.
  exchange::Update total_of(const data::SafetensorsFile& file) const;
  // The next step. THROWS JobFailed.
  learn::Outcome absorb(const exchange::Update& total);

  // The present state, as a blob; `more` goes into its metadata.
  storage::Bytes state(data::Metadata more = {}) const;
  // Of what was learned.
  std::string model_sha256() const;

 private:
  // Stays where it is: the learner borrows the parts.
  struct Attached {
    data::Part part, eval;
    std::unique_ptr<learn::RoundLearner> learner;
  };
  void load(const std::set<int>& shards);
  void load_one(int shard);
  std::optional<data::Dataset> rows_of(const std::string& name, const std::string& what);
  std::unique_ptr<Attached> attached(const data::SafetensorsFile& state,
                                     const std::set<int>& shards);
  void rebuild(const std::set<int>& shards);
  void run(learn::RoundLearner& learner, const std::set<int>& shards, const Use& use);
  std::string where() const;

  storage::BlobStore& blobs_;
  const JobRecord& job_;
  const Names names_;
  const MakeLearner& make_;
  const double timeout_s_;
  base::ThreadPool pool_;
  data::ShardBuffer room_;
  std::optional<data::ShardBuffer> eval_room_;
  std::set<int> loaded_;

  std::int64_t step_ = -1, rounds_ = 0;
  data::Metadata carried_;
  std::unique_ptr<Attached> main_;
  learn::RoundLearner* learner_ = nullptr;  // of main_
  // Shards whose caches in the main learner are those of this step. A shard that was left out of a
  // round, because somebody else had done it, may not be worked on with them again.
  std::set<int> attached_;
  std::set<int> worked_;  // of attached_, in this step
  bool begun_ = false;    // somebody has worked in this step with the main learner
};

}  // namespace meanwhile::runtime
