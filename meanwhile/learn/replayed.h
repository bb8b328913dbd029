// A learner that repeats a recorded run whose workers did not wait for each other: its rounds give
// that run's model to the last bit, on any runtime and with any number of workers.
//
// In a round every reader of the record whose next read saw only what is there by now does its next
// clock; the others wait. A reader's shards work with a learner of the reader's own, which looks at
// what the record says. Moves of readers travel side by side, as rows that only their shards touch,
// so that every worker knows each. Cost: an update is as large as the model for each reader, and a
// round may have few of them; a replay is for checking a run, not for speed.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/learn/moves.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/tables/foresight.h"
#include "meanwhile/tables/reads_log.h"

namespace meanwhile::learn {

class ReplayedLearner final : public RoundLearner {
 public:
  // A learner in a state that another has given, with the parameters of the run.
  using Make = std::function<std::unique_ptr<RoundLearner>(State state)>;

  // `state`: the file that `learner` was restored from; null: it begins. THROWS Error(kInput) when
  // the file does not hold the state of a replay of this record.
  ReplayedLearner(std::unique_ptr<RoundLearner> learner,
                  std::shared_ptr<const tables::ReadsLog> log, Make make,
                  const data::SafetensorsFile* state = nullptr);
  ~ReplayedLearner() override;

  std::string name() const override { return learner_->name(); }
  std::int64_t rounds_left() const override { return learner_->rounds_left(); }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override { return learner_->cost(shape); }
  std::vector<Stretch> course(const Shape& shape) const override { return learner_->course(shape); }
  double memory_bytes(const Shape& shape, const Division& division) const override {
    return learner_->memory_bytes(shape, division);
  }

  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  // The outcome of a clock that all readers have done; of kind Phase::kPrepare when none was
  // settled.
  // THROWS Error(kInput) when the record cannot be repeated.
  Outcome absorb(const exchange::Update& total) override;

 private:
  using Numbers = std::vector<std::int64_t>;
  struct Reader {
    std::int64_t clock = 0;  // clocks done in this stretch
    Numbers looks_at;        // the sum of moves that its last read saw
    Numbers cut;             // by slice and source: clocks in it
    tables::Foresight foresight;
  };
  struct Clone;

  const tables::Stretch& stretch() const { return log_->stretches()[stretch_]; }
  exchange::Range shards_of(int reader) const;
  int reader_of(int shard) const;
  bool is_replaying() const { return moves_ != nullptr; }
  bool is_ready(int reader) const;
  bool is_complete() const;
  std::int64_t due() const;
  void enter();
  void begin_stretch();
  void end_stretch();
  void settle_round();
  void take(const exchange::Update& total);
  void rest(int reader);
  std::int64_t worked(int reader) const;
  void look(int reader);
  void forget();
  tables::Foresight foresight_of(std::size_t reader) const;
  Numbers with_foreseen(int reader) const;
  Clone& clone_of(int reader) MW_REQUIRES(mutex_);
  void put_state(State& state) const;
  void restore_foresight(const data::SafetensorsFile& file, std::size_t reader);

  const std::unique_ptr<RoundLearner> learner_;
  const std::shared_ptr<const tables::ReadsLog> log_;
  const Make make_;
  Attachment attachment_;      // of clones
  base::ThreadPool alone_{1};  // theirs: they look at models inside of tasks of the other pool
  Moves* moves_ = nullptr;     // of learner_, while clocks are repeated
  std::size_t stretch_ = 0;
  std::int64_t settled_ = 0;  // clocks of the stretch
  bool drains_ = false;       // the coming round settles a clock, without work
  std::vector<bool> ready_;   // readers that do a clock in the coming round
  std::vector<Reader> readers_;
  Numbers moved_;  // all moves of the stretch
  std::map<std::pair<int, std::int64_t>, tables::Foresight::Move> kept_;  // by reader and clock
  std::map<std::int64_t, std::vector<double>> summaries_;  // by clock, shard after shard
  base::Mutex mutex_;
  std::map<int, std::unique_ptr<Clone>> clones_ MW_GUARDED_BY(mutex_);  // of readers worked on here
  mutable std::list<std::vector<std::int64_t>> lent_;                   // tensors of state()
  mutable std::list<std::vector<double>> lent_summaries_;
  mutable std::list<std::vector<float>> lent_secants_;
};

}  // namespace meanwhile::learn
