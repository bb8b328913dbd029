// The clocks of one worker of a run whose workers do not wait for each other at every round.
//
// The model is cut into slices, one a worker, which owns it: it adds what all workers' clocks
// change in the slice. After a clock a worker sends each owner the slice of its move, and begins
// the next clock with what it knows. The owner answers with its present sum, and with how many
// clocks of each worker are in it. So an exchange takes as many bytes as allreduce, and goes on
// beside the work of a clock:
//
//   clock k    needs the answers to the moves of clock k - 2
//   answer     to the move of clock c, when clocks 0 .. c + 1 - s of all workers are in the sum; if
//              others are about to come, they are waited for, at most kPatience of a clock's work
//
// A worker adds its own moves that an answer lacks, and what it takes those of others to be
// (tables/foresight.h). Which clocks every read saw is recorded.
//
// A worker that is two clocks or more behind when half of the workers have done their last clock
// rests at its last ones: it moves nothing there. The others need not wait for it, and the model is
// not pulled to the optimum of one worker's rows by moves that no others answer.
// Memory: the model seven times, of it three times as moves under way, whatever the staleness.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/partial.h"
#include "meanwhile/job/engine.h"
#include "meanwhile/learn/moves.h"
#include "meanwhile/tables/foresight.h"
#include "meanwhile/tables/reads_log.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Thread safety: used by one thread, the transport's. With several workers, every worker makes the
// same calls.
class Clocks {
 public:
  // Borrows all. REQUIRES: every worker has a shard.
  Clocks(transport::Transport& transport, learn::Moves& moves, base::ThreadPool& pool, int shards,
         int staleness);
  ~Clocks();
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  // Clocks done in all stretches.
  std::int64_t done() const { return before_ + clock_; }

  // Begins a stretch: all workers have the same model, which is the first one of its moves.
  void begin();
  // Does a clock, or rests until `end`, the number of clocks of all stretches that done() comes to
  // at most. `votes`: this worker's, which travel with it. THROWS what the learner and the
  // transport throw.
  void work(const Votes& votes, std::int64_t end);
  // Ends a stretch: waits until all workers have done as many clocks, and looks at the model with
  // all of their moves. Returns what was read in it. Collective.
  tables::Stretch drain();
  // The summaries and votes of a clock, of all shards in their order; waits for them.
  struct Settled {
    std::vector<double> summary;
    Votes votes;
  };
  Settled settle(std::int64_t clock);
  // The last call: no message is under way afterwards. REQUIRES: drained.
  void close();

  // Since they were asked last.
  struct Times {
    double work_s = 0, wait_s = 0;
    exchange::Traffic traffic;
    // Entries of cuts that lacked 0, 1, 2 ... clocks of another worker; and clocks that in rounds
    // would have waited for one.
    std::vector<std::int64_t> histogram = {};
    std::int64_t waits_saved = 0;
  };
  Times take_times() { return std::exchange(times_, {}); }

 private:
  struct Header;
  struct Peer;
  struct Sending;
  struct Asked {
    int worker;
    std::int64_t clock;
    double due_s;  // patience ends
  };
  struct View {
    std::int64_t answers = 0;
    std::vector<std::int64_t> cut;     // clocks of each worker in it
    std::vector<std::int64_t> values;  // of the slice
  };
  struct Summary {
    std::vector<std::vector<double>> of_workers;
    Votes votes;
    int come = 0;
  };
  using Slice = tables::ReadsLog::Slice;

  Slice slice(int worker) const { return tables::ReadsLog::slice(size_, worker, workers_); }
  bool may_start() const;
  bool may_rest(std::int64_t end) const;
  void rest(std::int64_t end, const Votes& votes);
  void look();
  bool make_moves(std::int64_t end);
  void count_reads();
  void choose_grid(const std::vector<std::vector<double>>& moves);
  void publish(const Votes& votes, double work_s);
  void take_summary(int from, std::int64_t clock, const std::vector<double>& numbers,
                    const Votes& votes);
  void take_rest(int from, const Header& header);
  void take_update(int from, std::int64_t clock, double work_s,
                   std::span<const std::int64_t> values);
  void answer_due();
  void send(int to, const Header& header, std::shared_ptr<const std::vector<std::int64_t>> values,
            Slice part);
  bool poll();
  bool poll(int from, Peer& peer);
  void expect_header(int from, Peer& peer);
  void wait_for(const char* what, const std::function<bool()>& come);

  transport::Transport& transport_;
  learn::Moves& moves_;
  base::ThreadPool& pool_;
  const int shards_, workers_, me_;
  const exchange::Range mine_;
  const tables::Bound bound_;
  const std::int64_t size_;  // numbers of the model

  std::int64_t before_ = 0, clock_ = 0;  // clocks of earlier stretches, and of this one
  double grid_ = 1;
  std::vector<std::int64_t> sum_;      // of my slice
  std::vector<std::int64_t> arrived_;  // clocks of each worker in it
  std::vector<View> views_;            // of the other slices, by owner
  // My last moves, which not all answers have yet, and their clocks.
  std::deque<std::pair<std::int64_t, std::shared_ptr<std::vector<std::int64_t>>>> own_;
  tables::Foresight foresight_;
  std::vector<std::int64_t> moved_;  // what this worker looks at
  std::vector<std::int16_t> lags_;   // of my reads: by clock, slice and source
  std::int64_t busy_clocks_ = 0;     // clocks of this stretch that I did not rest at
  std::vector<Asked> asked_;
  std::map<std::int64_t, Summary> summaries_;  // by clock of all stretches
  std::shared_ptr<std::vector<std::int64_t>> making_;
  std::vector<double> making_summary_, last_summary_;
  double work_s_ = 0;  // of the last clock

  std::vector<std::unique_ptr<Peer>> peers_;
  std::list<Sending> sending_;
  base::Mutex mutex_;  // guards making_ while shards are worked on, and working_
  base::Condition worked_;
  bool working_ MW_GUARDED_BY(mutex_) = false;
  Times times_;
};

}  // namespace meanwhile::job
