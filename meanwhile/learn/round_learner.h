// A learner of rounds, and its contract with whatever runs them:
//
//   update[s] = learner.work(s)            every shard, in parallel
//   total     = sum over s of update[s]    one fixed order
//   learner.absorb(total)                  the next model
//
// An update is a flat vector of doubles, and updates add: that is all the loop knows of learning.
// All a learner knows of distribution is that a row belongs to a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/part.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

// What the loop hands a learner before the first round. Borrowed until the learner is attached
// elsewhere or destroyed.
struct Attachment {
  // What this node holds of the data: rows are known by the blocks of `shards`. There are all S
  // shards, and their `rows` are right, but those of other nodes have no blocks here.
  const data::Dataset* data = nullptr;
  std::span<const data::Shard> shards;
  std::uint64_t seed = 0;
  // The data is mapped and larger than the memory it may use: release rows after use, and keep no
  // cache that grows with the rows.
  bool release = false;
  // Of the whole data: see data::Part.
  bool labelled = false;
  std::span<const double> label_values = {};
  const data::Part* eval = nullptr;  // held-out rows, dealt to as many shards; or none
  base::ThreadPool* pool = nullptr;  // for absorb(); idle then

  // Rows of the whole data, which no node need have.
  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (const data::Shard& shard : shards) sum += shard.rows;
    return sum;
  }
};

// Thread safety: work() is called for different shards at the same time; nothing else is.
class RoundLearner : public Learner {
 public:
  // Checks that the parameters fit the data. THROWS Error(kUsage, kInput).
  virtual void attach(const Attachment& attachment) = 0;

  // Doubles in an update of the coming round.
  virtual std::size_t update_size() const = 0;

  // Adds the update of shard `shard` for the present model to `update`, which comes zeroed. The
  // result is a pure function of model, rows of the shard, shard number and seed: never of the
  // thread, of the other shards, or of what a cache happens to hold.
  virtual void work(int shard, std::span<double> update) = 0;

  // Turns the present model and the summed updates into the next model.
  virtual Outcome absorb(std::span<const double> total) = 0;
};

}  // namespace meanwhile::learn
