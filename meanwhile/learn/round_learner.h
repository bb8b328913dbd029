// A learner of rounds, and its contract with whatever runs them:
//
//   update[s] = learner.work(s, memory[s])   every shard, in parallel
//   total     = sum over s of update[s]      one fixed order
//   learner.absorb(total)                    the next model
//
// An update is blocks of rows (exchange/update.h), and updates add: that is all the loop knows of
// learning. All a learner knows of distribution is that a row belongs to a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/release_rows.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/learn/shard_memory.h"

namespace meanwhile::learn {

// The inputs of a learner before the first round. Borrowed until the learner is attached elsewhere
// or destroyed.
struct Attachment {
  // The data that this worker holds: rows are known by the blocks of its shards. There are all S
  // shards, and their `rows` are right, but the shards of other workers have no blocks here.
  const data::Part* part = nullptr;
  const data::Part* eval = nullptr;  // held-out rows, dealt to as many shards; or none
  std::uint64_t seed = 0;
  // The data is mapped and larger than the memory it may use: release rows after use, and keep no
  // cache that grows with the rows but a few numbers for each.
  bool release = false;
  base::ThreadPool* pool = nullptr;  // for absorb(); idle then
  // Totals have the rows that this worker needs alone: see RoundLearner::mirrored_blocks().
  bool mirrors = false;
  // All shards are here, and no other worker is: what a learner can sum by itself, in the one
  // order, need not be in updates.
  bool alone = false;

  // Asks for the run to end: attach() and work() may be left by Error(kInterrupted) then, and the
  // learner is asked for its state alone, that of the last round it absorbed. Null: finish.
  const base::Stop* stop = nullptr;

  // After these rows of `part` were used; called at least once a block. THROWS Error(kInterrupted).
  void leave(data::RowRange rows) const {
    if (release) data::release_rows(part->data.x, rows);
    check_stop();
  }
  // Between rows that take long. THROWS Error(kInterrupted).
  void check_stop() const {
    if (stop != nullptr) stop->check();
  }
};

class Moves;
class TableWork;

// max_lag() of a learner that does not mind.
inline constexpr int kAnyLag = 1 << 20;

// Thread safety: work() is called for different shards at the same time; nothing else is.
class RoundLearner : public Learner {
 public:
  // Checks that the parameters fit the data. THROWS Error(kUsage, kInput).
  virtual void attach(const Attachment& attachment) = 0;

  // The blocks of an update of the coming round.
  virtual exchange::UpdateShape update_shape() const = 0;

  // The memory of a shard, the same in every round; none by default. Every shard has the same
  // tensors, of its own sizes, which need be right for shards that are held here. An engine calls
  // work() of a learner with memory once a round and shard, and finishes a round that has begun.
  // REQUIRES: attached.
  virtual MemoryShape memory_shape(int /*shard*/) const { return {}; }

  // Adds the update of shard `shard` for the present model to `update`, which comes cleared, and
  // brings the memory of the shard to the next round. Update and memory are pure functions of
  // model, rows of the shard, memory before, shard number and seed: never of the thread, of the
  // other shards, or of what a cache happens to hold.
  virtual void work(int shard, ShardMemory& memory, exchange::Update& update) = 0;

  // Turns the present model and the summed updates into the next model. `total` has the blocks of
  // update_shape(); behind them it may have others, which are the runtime's.
  virtual Outcome absorb(const exchange::Update& total) = 0;

  // How many totals the model that work() reads in the coming rounds may lack; 0: none. A learner
  // that allows a lag keeps no cache of a shard from round to round, so that any worker may do any
  // shard.
  virtual int max_lag() const { return 0; }
  // The coming work() is for the round after `rounds` others whose totals are not absorbed yet.
  virtual void set_ahead(int /*rounds*/) {}
  // The model that work() reads will lack so many totals, mostly: whole steps towards where an
  // older model would have gone swing round the optimum. Before attach(); 0 at first.
  virtual void set_lag(int /*rounds*/) {}
  // Whether run_ahead() may be of use. If not, it would change nothing.
  virtual bool may_run_ahead() const { return false; }
  // Called after work() of a round, before its total is known: brings the model to what work() of
  // the round after reads, if that does without this total, and says whether it does. If so, work()
  // may be called for that round, and absorb() takes the total of this one as ever. Until then,
  // whatever the answer, state() and update_shape() are of no use.
  virtual bool run_ahead() { return false; }

  // The model as a sum of moves, while it is one; null: work() needs whole totals (moves.h).
  // Belongs to the learner.
  virtual Moves* moves() { return nullptr; }

  // Parameters in tables, of which workers hold slices (table_work.h); null: the learner has none.
  // The same in all rounds. Belongs to the learner.
  virtual TableWork* table_work() { return nullptr; }

  // Learners of graphs: workers that hold a part of the graph need a part of the total. The first
  // so many blocks of an update (dense, of as many rows as the data) may be summed where they are
  // needed alone (exchange/mirrors.h); 0: every worker needs the whole total.
  virtual int mirrored_blocks() const { return 0; }
  // The rows of these blocks that work() of this worker's shards adds to or reads, ascending; the
  // same in all rounds. REQUIRES: attached.
  virtual std::vector<std::int64_t> needed_rows() const { return {}; }
  // A learner that absorbed parts knows a part of the model. Engines bring the parts together
  // before they ask for a state: put_model() adds what belongs to the rows of a shard to an update
  // of model_shape(), which comes cleared, and take_model() takes the sum.
  virtual exchange::UpdateShape model_shape() const { return {}; }
  virtual void put_model(int /*shard*/, exchange::Update& /*update*/) const {}
  virtual void take_model(const exchange::Update& /*total*/) {}
};

// A round learner without memory, whose update is one dense block of float64.
class FlatLearner : public RoundLearner {
 public:
  // Numbers in an update of the coming round.
  virtual std::size_t update_size() const = 0;
  // As RoundLearner's. `update` comes zeroed.
  virtual void work(int shard, std::span<double> update) = 0;
  virtual Outcome absorb(std::span<const double> total) = 0;

  exchange::UpdateShape update_shape() const final {
    return {{.rows = static_cast<std::int64_t>(update_size())}};
  }
  void work(int shard, ShardMemory& /*memory*/, exchange::Update& update) final {
    work(shard, update.dense<double>(0));
  }
  Outcome absorb(const exchange::Update& total) final { return absorb(total.dense<double>(0)); }
};

}  // namespace meanwhile::learn
