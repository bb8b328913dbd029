// A stage of a learner: rounds that are alike. A learner of several stages keeps one object for
// each, is in one of them at a time, and passes work() and absorb() on to that one:
//
//   statistics  ->  rate search  ->  averaging of models  ->  L-BFGS  ->  score
//
// The common part of stages (parameters, rows, model, progress) is a struct of the learner's,
// borrowed by each of them; a stage owns what no other one looks at.
#pragma once

#include <algorithm>
#include <vector>

#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/choice.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

class Moves;

// `Name`: the stages of a learner; their names are those in the state file.
// Thread safety: work() is called for different shards at the same time; nothing else is.
template <Choice Name>
class Stage {
 public:
  virtual ~Stage() = default;

  virtual Name name() const = 0;

  // Makes ready for the next round: when the stage is entered, and when data is attached to a
  // learner that is in it.
  virtual void begin() {}

  // The blocks of an update of the coming round.
  virtual exchange::UpdateShape update_shape() const = 0;
  // As RoundLearner::work(), for learners without memory. REQUIRES: begun.
  virtual void work(int shard, exchange::Update& update) const = 0;
  // As RoundLearner::absorb(). Returns the stage of the next round, which is this one for another
  // round of the same kind, and any when training is done.
  virtual Name absorb(const exchange::Update& total, Outcome& outcome) = 0;

  // As RoundLearner::max_lag().
  virtual int max_lag() const { return 0; }

  // As RoundLearner::moves().
  virtual Moves* moves() { return nullptr; }

  // Adds its rounds that are still to come to `course`, where they are not rounds of training.
  // `train`: the cost of one that is. May be asked before any data is attached.
  virtual void plan(const Shape& /*shape*/, const Cost& /*train*/,
                    std::vector<Stretch>& /*course*/) const {}

  // Adds what only this stage carries from round to round; and takes it back. THROWS Error(kInput)
  // or nlohmann::json::exception for what the stage cannot have carried.
  virtual void save(State& /*state*/) const {}
  virtual void load(const data::SafetensorsFile& /*file*/, const Json& /*progress*/) {}
};

// All values of a block of a total, with zeros for rows that are absent. `scratch` is used where
// there are such rows, and must outlive the result.
std::span<const double> all_rows(const exchange::Update& total, int block,
                                 std::vector<double>& scratch);

// Fills a block row by row: fill(row, values). Of a sparse block, only rows that are not all +0.0
// are touched, so that a sum has the same bits as one of dense blocks.
// REQUIRES: nothing was put into the block.
template <class Fill>
void put_rows(exchange::Update& update, int block, Fill&& fill);

// A block of `rows` x `width` numbers of which a shard touches as many rows as it has `values`, at
// most: sparse where the sum of two shards still has few rows, and a row fits into a message. A
// block that becomes full when it is added costs more than one that was dense from the start.
exchange::Block rows_block(std::int64_t rows, std::int64_t width, double values);

// --- implementation

bool is_plain_zero(std::span<const double> values);

template <class Fill>
void put_rows(exchange::Update& update, int block, Fill&& fill) {
  const exchange::Block shape = update.shape()[static_cast<std::size_t>(block)];
  if (!shape.sparse) {
    const std::span<double> values = update.dense<double>(block);
    for (std::int64_t i = 0; i < shape.rows; ++i) fill(i, values.data() + i * shape.width);
    return;
  }
  std::vector<double> row(static_cast<std::size_t>(shape.width));
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    fill(i, row.data());
    if (is_plain_zero(row)) continue;
    const std::span<double> to = update.touch<double>(block, i);
    std::copy(row.begin(), row.end(), to.begin());
  }
}

}  // namespace meanwhile::learn
