// The sum of all workers' updates where a worker needs a part of it, as with graphs: row v of the
// update belongs to vertex v, whose master is the worker that holds row v of the data; other
// workers whose shards touch the vertex are its mirrors.
//
//   mirrors send what they have of a row to its master
//   the master adds along the one tree, and sends the sum to the mirrors
//
// A vertex is in RF workers on average, so a worker sends (RF - 1) V / P rows twice, where
// allreduce sends (P - 1) V / P. Which rows these are is agreed once: rounds carry values alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/exchange/partial.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// Thread safety: none. With several workers, all make the same calls.
class Mirrors {
 public:
  // Collective. `first_row`: the first row of each worker, and the end; `needed`: the rows that
  // this worker's updates may touch and that it wants of totals, ascending, its own among them or
  // not. THROWS what Transport::wait does; Error(kFailed) when a worker needs rows that there are
  // not.
  Mirrors(transport::Transport& transport, int shards, std::vector<std::int64_t> first_row,
          std::span<const std::int64_t> needed);

  // As allreduce(), the same bits, but of the first `blocks` blocks, which are dense and have a row
  // for each row of the data, `total` gets the rows that this worker owns or needs; other rows keep
  // what they held. Blocks behind them are summed whole, at every worker; they are small.
  // REQUIRES: no block is sparse.
  Traffic exchange(std::span<const Partial> mine, int blocks, Update& total);

  // Rows that this worker mirrors.
  std::int64_t mirrored() const;

 private:
  struct Source {
    int worker = 0;
    Range range;
    transport::Bytes bytes;  // what its worker sent of it
  };
  struct Peer {
    std::vector<std::int64_t> mine_there;   // rows that this worker mirrors and the peer owns
    std::vector<std::int64_t> theirs_here;  // rows that the peer mirrors and this worker owns
    std::vector<std::size_t> places;        // of theirs_here in shared_
    std::vector<transport::Bytes> out;      // a message for each of this worker's partials
    transport::Bytes sums_out, sums_in;
  };

  bool is_own(std::int64_t row) const;
  void receive(int from, int tag, std::span<std::byte> bytes);
  void send(int to, int tag, std::span<const std::byte> bytes);
  void send_parts(std::span<const Partial> mine, int blocks);
  void receive_parts(int blocks, const Update& total);
  void add_own_rows(std::span<const Partial> mine, int block, Update& total) const;
  void add_shared_rows(std::span<const Partial> mine, int block, std::size_t offset, Update& total);
  void add_tail(std::span<const Partial> mine, int blocks, std::size_t offset, Update& total);
  void exchange_sums(int blocks, Update& total);

  transport::Transport& transport_;
  const int shards_;
  const std::size_t piece_;  // bytes of a message at most
  const std::vector<std::int64_t> first_row_;
  std::vector<Peer> peers_;           // by worker
  std::vector<std::int64_t> shared_;  // own rows that some worker mirrors, ascending
  std::vector<Source> sources_;       // of all workers, in order of shards
  std::vector<transport::Request> requests_;
  Traffic traffic_;
};

// A worker sends and receives the rows that it mirrors, and those that others mirror of its own.
// `rows_bytes`: of all rows; `copies`: workers that a row is in, on average; `busiest`: the part of
// all rows that goes one way through the busiest link, 0: as through others; `tail_bytes` go to
// every worker.
Cost mirrors_cost(double rows_bytes, double copies, double busiest, double tail_bytes, int workers);

}  // namespace meanwhile::exchange
