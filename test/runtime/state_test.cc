// A worker may begin at any step, from a state and the rows of some shards: of every learner, that
// must be all there is to know.
#include <gtest/gtest.h>

#include <cstring>

#include "meanwhile/data/shard_buffer.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/runtime/storage/checked.h"
#include "test/runtime/jobs.h"

namespace meanwhile::runtime {
namespace {

data::ShardBuffer full_room(const data::Part& part) {
  data::ShardBuffer room(data::outline_of(part));
  for (const data::Shard& shard : part.shards) {
    if (shard.rows > 0) room.fill(shard.index, data::shard_file(part.data, shard).rows);
  }
  return room;
}

// A learner with the rows of `shards`.
class Attached {
 public:
  Attached(const Job& job, const storage::Bytes& state, const std::set<int>& shards,
           const data::ShardBuffer& room, const std::optional<data::ShardBuffer>& eval_room)
      : learner(job.make()(data::SafetensorsFile(state, "state"))), part_(room.part(shards)) {
    if (eval_room) eval_ = eval_room->part(shards);
    learner->attach({&part_, eval_ ? &*eval_ : nullptr, kSeed, false, &pool_});
  }
  const std::unique_ptr<learn::RoundLearner> learner;

 private:
  base::ThreadPool pool_{1};
  const data::Part part_;
  std::optional<data::Part> eval_;
};

storage::Bytes bytes_of(const learn::RoundLearner& learner) {
  const learn::State state = learner.state();
  const job::StateFile file = job::state_file(state, 0);
  return seal(file.tensors, file.metadata);
}

std::string text_of(const learn::Outcome& outcome) {
  return fmt::format("phase {}, objective {:a}, done {}, {}, {}", static_cast<int>(outcome.phase),
                     outcome.objective, outcome.done(), outcome.because, outcome.record.dump());
}

TEST(State, IsAllThatALearnerNeedsAtEveryStep) {
  for (const Kind& kind : all_kinds()) {
    SCOPED_TRACE(kind.name);
    const int shards = 3;
    // Updates of k-means count what was compared: that may depend on what caches hold.
    const bool measures = kind.fresh()->name() == "kmeans";
    const Job job(kind, shards);
    const data::ShardBuffer room = full_room(job.part);
    std::optional<data::ShardBuffer> eval_room;
    if (job.eval) eval_room.emplace(full_room(*job.eval));

    const auto first = job.kind.fresh();
    first->attach({&job.part, job.eval ? &*job.eval : nullptr, kSeed, false, nullptr});
    // One that goes on, with its caches, and one that begins anew at every step.
    Attached whole(job, bytes_of(*first), {0, 1, 2}, room, eval_room);
    storage::Bytes state = bytes_of(*first);
    bool done = false;
    for (int step = 0; !done; ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      const exchange::UpdateShape shape = whole.learner->update_shape();
      exchange::OrderedSum sum(shards, shape), sum_of_whole(shards, shape);
      Attached all(job, state, {0, 1, 2}, room, eval_room);
      for (int shard = 0; shard < shards; ++shard) {
        Attached one(job, state, {shard}, room, eval_room);
        ASSERT_EQ(one.learner->update_shape(), shape);
        exchange::Update update(shape), again(shape), cached(shape);
        learn::ShardMemory memory;
        one.learner->work(shard, memory, update);
        all.learner->work(shard, memory, again);
        update.settle();
        again.settle();
        if (!measures) {
          ASSERT_EQ(seal_update(update), seal_update(again))
              << "the update of shard " << shard << " depends on other shards";
        }
        sum.give(shard, std::move(update));
        whole.learner->work(shard, memory, cached);
        sum_of_whole.give(shard, std::move(cached));
      }
      Attached none(job, state, {}, room, eval_room);
      const learn::Outcome outcome = none.learner->absorb(sum.total());
      ASSERT_EQ(text_of(all.learner->absorb(sum.total())), text_of(outcome));
      state = bytes_of(*none.learner);
      ASSERT_EQ(bytes_of(*all.learner), state);
      ASSERT_EQ(whole.learner->absorb(sum_of_whole.total()).done(), outcome.done());
      // Measures of a round may depend on caches; what is learned may not.
      ASSERT_EQ(data::sha256(whole.learner->state().learned),
                data::sha256(none.learner->state().learned));
      ASSERT_EQ(none.learner->rounds_left(), whole.learner->rounds_left());
      done = outcome.done();
    }
    EXPECT_EQ(data::sha256(whole.learner->state().learned), job.expected);
  }
}

}  // namespace
}  // namespace meanwhile::runtime
