// Work stealing between neighbours of a run with two replicas: a worker that is done with its own
// shards of a round takes shards of the workers before and after it, which hold the same rows.
//
// The messages of one round, between thief T and victim V; both are both at once:
//
//   T -> V   ask (its seconds a shard), any number; then bye
//   V -> T   a shard, for an ask; at last: closed
//
// V closes when all its shards have begun, whether it was asked or not, and at the first ask that
// it refuses. T asks when all its own shards have begun, and only one of its neighbours at a time;
// "closed" is the answer to an ask that crossed it. So no worker waits for one that is at work: a
// victim answers while its threads work, and one that cannot answer has closed. What crossed is
// received when all have told their ranges, and nothing is open when the exchange begins.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "meanwhile/exchange/order.h"
#include "meanwhile/job/engine.h"
#include "meanwhile/job/shard_queue.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Knowledge of all workers after a round of work.
struct Shares {
  std::vector<int> bounds;  // worker w made the shards bounds[w] .. bounds[w + 1] - 1
  int stolen = 0;           // shards that another than their owner made
  Votes votes;              // of all workers

  // How many shards each worker made.
  std::vector<int> sizes() const;
};

// One worker's part in one round.
// When anything fails, it must live until the transport has heard of it (Transport::fail).
// Thread safety: serve() and settle() by the thread of the transport; queue() by any.
class StealRound {
 public:
  // Borrows the transport. REQUIRES: several workers; two replicas of every shard.
  StealRound(transport::Transport& transport, int shards, int threads);

  // The shards to work on: of this worker, then of others.
  ShardQueue& queue() { return queue_; }

  // Gives shards to neighbours and takes theirs, until none is left to begin. Returns early when
  // the queue was stopped. THROWS what Transport::wait does.
  void serve();

  // Receives what is still under way, after serve(): a run may end before settle(), with a round
  // that was worked on ahead. Later calls do nothing. THROWS what Transport::wait does.
  void drain();

  // Collective, once a round, after serve(): tells all workers what was made here, and learns what
  // they made. THROWS what Transport::wait does; Error(kFailed) when shards were lost.
  Shares settle(const Votes& mine);

 private:
  struct Message {
    int shard = -1;  // -1: closed, or bye; an ask has any other number
    double seconds = 0;
  };
  // Receives write here until the transport withdraws them: memory that lives as long as this.
  struct Neighbour {
    Side side = Side::kBefore;
    int rank = 0;
    transport::Request ask = 0;  // the receive of its next message as a thief
    Message asked = {}, answer = {};
    bool is_closed = false;   // I give it no more
    bool has_closed = false;  // it gives me no more
  };

  void expect_ask(Neighbour& thief);
  void answer(Neighbour& thief);
  void close(Neighbour& thief);
  bool take_one(Neighbour& victim);
  void send(int to, int tag, Message message);

  transport::Transport& transport_;
  const int shards_;
  ShardQueue queue_;
  std::deque<Neighbour> neighbours_;
  std::deque<Message> sent_;  // borrowed by sends under way
  std::vector<transport::Request> sends_;
  bool is_drained_ = false;
};

}  // namespace meanwhile::job
