// A learner whose shards read what has arrived, for a runtime that knows steps alone: a step is a
// stretch of clocks, which shards do at their own pace, and its total is what they did in it.
//
//   step     0   1   2        3               4
//   rounds   plain steps      clocks 0 .. 31  clocks 32 .. 63      the learner's own numbering
//
// Within a stretch every shard is a reader (tables/reads_log.h): a runtime makes a FreshReader for
// each, tells it what was moved, and gives the update of the shard when all its clocks are done.
// absorb() settles all rounds of the stretch at once, and adds it to the record of reads. At the
// end of a stretch all shards have seen everything, so that a state is complete.
//
// The record travels in the state, so that whatever absorbs the last total knows all of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/learn/moves.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/tables/foresight.h"
#include "meanwhile/tables/reads_log.h"

namespace meanwhile::learn {

// Clocks of a stretch, at most. More save waits: the first clock of a stretch sees all before it.
// Fewer save room: moves of a stretch are kept until it is over.
inline constexpr std::int64_t kMostClocks = 64;
inline std::int64_t clocks_of_stretch(int staleness) {
  return std::clamp<std::int64_t>(8 * std::int64_t{staleness}, 16, kMostClocks);
}

class FreshLearner final : public RoundLearner {
 public:
  // Borrows `before`, the record of the run that is resumed; null: it begins. `state`: the file
  // that `learner` was restored from; null: none. THROWS Error(kInput) for a state whose record is
  // damaged.
  FreshLearner(std::unique_ptr<RoundLearner> learner, tables::RecordedRun run, int staleness,
               const tables::ReadsLog* before, const data::SafetensorsFile* state = nullptr);
  ~FreshLearner() override;

  std::string name() const override { return learner_->name(); }
  std::int64_t rounds_left() const override { return learner_->rounds_left(); }
  bool seeks_convergence() const override { return learner_->seeks_convergence(); }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override { return learner_->cost(shape); }
  std::vector<Stretch> course(const Shape& shape) const override { return learner_->course(shape); }
  double memory_bytes(const Shape& shape, const Division& division) const override {
    return learner_->memory_bytes(shape, division);
  }

  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  MemoryShape memory_shape(int shard) const override { return learner_->memory_shape(shard); }
  // REQUIRES: !in_stretch().
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  // The outcome of the last round that was settled.
  Outcome absorb(const exchange::Update& total) override;
  Moves* moves() override { return learner_->moves(); }
  void set_ahead(int rounds) override { learner_->set_ahead(rounds); }

  // Whether the coming step is a stretch.
  bool in_stretch() const { return moves_ != nullptr; }
  // Clocks of the stretch. Fewer are done when the moves end before.
  std::int64_t clocks() const { return clocks_; }
  // Grid of the stretch; 0: grid_for() the largest move of all shards' first clock.
  double grid() const { return grid_; }
  // Numbers of a move, and of a summary. REQUIRES: in_stretch().
  std::size_t size() const { return moves_->size(); }
  std::size_t summary_size() const { return moves_->summary_size(); }
  int shards() const { return run_.shards; }
  int staleness() const { return staleness_; }
  // The rounds that the last absorb() settled, in order, and how stale the reads of each were.
  struct Settled {
    Outcome outcome;
    std::vector<std::int64_t> histogram = {};  // tables::staleness_histogram() of its clock
    std::int64_t waits_saved = 0;
  };
  const std::vector<Settled>& settled() const { return settled_; }
  const tables::ReadsLog& log() const { return log_; }

 private:
  void enter();
  Outcome absorb_stretch(const exchange::Update& total);
  void measure(const tables::Stretch& stretch);

  const std::unique_ptr<RoundLearner> learner_;
  const tables::RecordedRun run_;
  const int staleness_;
  tables::ReadsLog log_;
  Moves* moves_ = nullptr;  // of learner_, while there are clocks
  std::int64_t clocks_ = 0;
  double grid_ = 0;
  bool done_ = false;  // the state is the model: it names the record, and does not hold it
  std::vector<Settled> settled_;
  mutable std::vector<std::int64_t> lent_;  // a tensor of state()
};

// The move of a shard at a clock.
struct ShardMove {
  tables::Cut cut;  // clocks of each shard that its read saw
  std::vector<double> values, summary;

  double largest() const;  // number; not finite when one of them is not
};

// A shard in a stretch: what it has seen so far. Thread safety: none; different ones are apart.
class FreshReader {
 public:
  // Borrows `learner`, which is in the state before the stretch, attached to the rows of `shard`,
  // and looks at nothing but this reader's model from here on. THROWS Error(kFailed) when it has no
  // moves.
  FreshReader(FreshLearner& learner, int shard);

  int shard() const { return shard_; }
  // Clocks of each shard that were taken. Its own: those whose moves are in update().
  const tables::Cut& taken() const { return taken_; }
  // Cuts that the finished reads of its own clocks saw.
  const std::vector<tables::Cut>& cuts() const { return cuts_; }
  // The last of them; empty: there is none.
  tables::Cut last_cut() const { return cuts_.empty() ? tables::Cut() : cuts_.back(); }
  // Whether it has seen or settled what a read at `clock` must not.
  bool is_beyond(std::int64_t clock) const {
    return taken_[static_cast<std::size_t>(shard_)] > clock ||
           settled_ > tables::required(clock, bound_);
  }
  // Takes the next clock of `source`. `grid`: of the stretch. REQUIRES: a move of its own comes
  // when what its read saw was taken, and no more.
  void take(int source, const ShardMove& move, double grid);
  // Settles the rounds that a read at `clock` has behind it, and says whether the clock is to be
  // done: not when they have ended the moves, or are all. `summary_of(clock)`: the sum of all
  // shards' summaries. REQUIRES: the clocks that the read must see are there.
  template <class SummaryOf>
  bool may_begin(std::int64_t clock, const SummaryOf& summary_of) {
    while (!ended_ && settled_ < tables::required(clock, bound_)) settle(summary_of(settled_));
    return !ended_ && clock < learner_.clocks();
  }
  // Does `clock`, which reads what was taken. REQUIRES: may_begin() said so.
  ShardMove work(std::int64_t clock, double grid);
  // Adds what the shard did in the stretch, of so many clocks, to an update of its shape.
  void add_to(exchange::Update& update) const;

 private:
  void settle(const std::vector<double>& summary);
  std::vector<std::int64_t> sees() const;

  FreshLearner& learner_;
  Moves& moves_;
  const int shard_;
  const tables::Bound bound_;
  tables::Cut taken_;
  std::vector<std::int64_t> looks_at_, own_;  // sums of moves: taken, and the shard's own
  tables::Foresight foresight_;
  std::vector<tables::Cut> cuts_;  // of its clocks
  std::vector<double> summaries_;  // the same
  double first_largest_ = 0, last_largest_ = 0;
  std::int64_t settled_ = 0;
  bool ended_ = false;
};

}  // namespace meanwhile::learn
