// A learner whose parameters are tables (tables/table.h): too large for every worker to hold, or
// sparse integers, as the counts of thousands of topics. A shard says which rows it wants, works on
// these rows, and adds to any rows. A round is
//
//   view[s]     = the rows that wants(s) says, of the tables as they are
//   delta[s]    = work(s, view[s])                           every shard, in parallel
//   tables      = tables + sum over s of delta[s]            by the owners of slices
//   total, absorb()                                          what else the learner sums, as ever
//
// Work never waits for a row: rows are fetched while another shard is at work. A
// worker holds the slices that it owns and the rows of the shards at work.
#pragma once

#include <vector>

#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/shard_memory.h"
#include "meanwhile/tables/rows.h"
#include "meanwhile/tables/table.h"

namespace meanwhile::learn {

// Belongs to a RoundLearner that is attached. Thread safety: wants() and work() are called for
// different shards at the same time.
class TableWork {
 public:
  virtual ~TableWork() = default;

  // The same in all rounds. All numbers are zero when a run begins.
  virtual std::vector<tables::Table> tables() const = 0;

  // The rows that work() of this shard reads in the coming round. A pure function of the learner's
  // state, the rows of the shard and its number: asked ahead of work(), and more than once.
  virtual void wants(int shard, tables::Wants& rows) const = 0;

  // As RoundLearner::work(), which is not called. `update` is summed and given to absorb(); it has
  // what all workers must know, and is small; behind the blocks of update_shape() it may have
  // others, which are the runtime's.
  virtual void work(int shard, ShardMemory& memory, const tables::View& view, tables::Delta& delta,
                    exchange::Update& update) = 0;
};

}  // namespace meanwhile::learn
