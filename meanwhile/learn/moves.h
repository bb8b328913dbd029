// A model that is a sum of moves: first model + sum of all shards' moves / number of shards. Such a
// model can be read when some of the moves are missing, so that workers need not wait for each
// other at every round (job/clock_engine.h).
//
// A clock is a round of one worker. What is not a sum (the objective, learned priors, the decision
// to stop) is settled by small summaries, clock by clock, when those of all shards are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

// Belongs to a RoundLearner that is attached. Thread safety: work() is called for different shards
// at the same time; nothing else is.
class Moves {
 public:
  virtual ~Moves() = default;

  // Numbers of the model, and of a summary.
  virtual std::size_t size() const = 0;
  virtual std::size_t summary_size() const = 0;

  // The present model is the first one of the moves to come.
  virtual void begin() = 0;

  // Works on `shard` with the model looked at last, for the round that RoundLearner::set_ahead()
  // says. Sets `move` to what the shard would change, and adds to `summary`; both come zeroed. A
  // pure function of model, rows, round and seed, as RoundLearner::work() is.
  virtual void work(int shard, std::span<double> move, std::span<double> summary) const = 0;

  // The model becomes first + moved * unit, elementwise. Also called after settle() has ended the
  // moves: for what follows them.
  virtual void look(std::span<const std::int64_t> moved, double unit) = 0;

  // The summaries of a clock, of all shards: counts the round and says how it went. Every worker
  // calls it with the same numbers at the same clock, whatever model it looks at: what follows must
  // depend on these numbers alone.
  virtual Outcome settle(std::span<const double> summary) = 0;
};

}  // namespace meanwhile::learn
