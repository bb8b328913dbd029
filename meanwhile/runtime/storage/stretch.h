// A stretch of clocks at a worker (learn/fresh.h): shards read what has arrived at the store, and
// no worker waits for a total. For clock c of shard x a worker
//
//   1  lists moves/: how many clocks of each shard are there; the bound says whether x may begin
//   2  puts what it will read as reads/c/x, unless another worker has: then it reads the same
//   3  downloads the moves that the read sees and that it has not seen, works, and puts moves/c/x
//
// A move holds the cut that it was made with, and the first copy stays: what a clock did is decided
// by that one blob. The claim of the read spares work that another worker would discard, and makes
// a move that was lost or damaged come again with the same bits. It holds the earlier reads of the
// shard, too: where a claim is lost with its move, a later claim tells.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/learn/fresh.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/layout.h"
#include "meanwhile/runtime/storage/shard_memories.h"
#include "meanwhile/runtime/storage/turns.h"
#include "meanwhile/runtime/storage/unread.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// Thread safety: one thread at a time.
class StretchRunner {
 public:
  // A learner in the state before the stretch, attached to the rows of one shard.
  using Attach = std::function<std::unique_ptr<AttachedLearner>(int shard)>;
  // Calls a step of the learner; what it throws ends the job (job_failed.h).
  using Fails = std::function<void(const std::string& what, const std::function<void()>& step)>;

  // Borrows blobs and pool. `learner`: in the state before the stretch.
  StretchRunner(storage::BlobStore& blobs, Names names, std::int64_t step,
                const learn::FreshLearner& learner, base::ThreadPool& pool, Attach attach,
                Fails fails);
  ~StretchRunner();

  // Forgets shards that are not in `shards`.
  void keep_only(const std::set<int>& shards);
  // Looks at the store once, and does the next clock of the shards that may begin one: as many as
  // the pool has threads, those that are furthest behind first. Returns at once where none may.
  // THROWS JobFailed; what the store throws.
  Advanced advance(const std::set<int>& shards, double now_s);
  // REQUIRES: advance() said that the shard is over.
  void put_update(int shard, exchange::Update& update) const;
  // The shards that all others wait for: those with the fewest clocks at the store. Empty when all
  // have all clocks.
  std::vector<int> last() const;
  // A blob that is there and cannot be read; empty when there is none.
  const std::string& unreadable() const { return unreadable_; }

 private:
  struct Seat {
    std::unique_ptr<AttachedLearner> attached;
    std::unique_ptr<learn::FreshReader> reader;
  };
  using Clock = std::pair<int, std::int64_t>;  // shard and clock
  struct Begun {
    int shard = 0;
    std::int64_t clock = 0;
    Seat* seat = nullptr;
    std::shared_ptr<learn::ShardMove> move = nullptr;
  };

  std::int64_t list();
  std::int64_t arrived(int shard) const { return arrived_[static_cast<std::size_t>(shard)]; }
  void count(int shard);
  Seat& seat_of(int shard);
  bool find_grid(double now_s);
  bool may_begin(Seat& seat, std::int64_t clock, double now_s, bool& over);
  bool bring_to(Seat& seat, const tables::Cut& cut, double now_s);
  bool bring_own(Seat& seat, std::int64_t clock, double now_s);
  std::optional<tables::Cut> claim(const Seat& seat, std::int64_t clock, double now_s);
  std::optional<std::vector<tables::Cut>> read_claim(Clock of);
  std::optional<tables::Cut> claimed(const Seat& seat, std::int64_t clock, double now_s);
  bool is_allowed(const tables::Cut& cut, const Seat& seat, std::int64_t clock) const;
  void fetch(const std::vector<Clock>& moves, double now_s);
  std::shared_ptr<learn::ShardMove> read_move(Clock of);
  bool put(const Begun& begun);
  void lose(const std::string& name, double now_s, const std::function<void()>& forget);
  void forget_move(Clock of);
  void refuse_move(Clock of);
  const learn::ShardMove* known(Clock of) const;
  void forget();
  std::string read_name(Clock of) const { return names_.read(step_, of.second, of.first); }
  std::string move_name(Clock of) const { return names_.move(step_, of.second, of.first); }

  storage::BlobStore& blobs_;
  const Names names_;
  const std::int64_t step_;
  base::ThreadPool& pool_;
  const Attach attach_;
  const Fails fails_;
  const int shards_;
  const std::int64_t clocks_;
  const tables::Bound bound_;
  const std::size_t size_, summary_size_;

  const bool chooses_grid_;                    // by the moves of the first clock
  double grid_;                                // 0: not known yet
  std::map<int, Seat> seats_;                  // of shards that are worked on
  std::vector<std::set<std::int64_t>> there_;  // by shard: clocks whose moves are at the store
  tables::Cut arrived_;                        // of these, the first so many
  std::map<Clock, std::shared_ptr<learn::ShardMove>> moves_;  // that a seat has still to take
  std::map<Clock, std::vector<double>> summaries_;
  std::set<Clock> lost_;  // moves that were at the store and could not be read
  Unread unread_;
  std::string unreadable_;
};

}  // namespace meanwhile::runtime
