// The sum of all workers' updates, at every worker, without a root: worker w adds slice w of all
// updates and sends it to all (reduce-scatter, then all-gather).
#pragma once

#include <span>

#include "meanwhile/exchange/partial.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// Every worker calls it with the sums of the subtrees of its own shards,
// subtrees(division.of(rank, P), shards), and gets the sum over all shards in the one order, the
// same bits for every P and division. `total` has the shape of `mine`; what it held is forgotten,
// and it is settled afterwards. Memory beside them: some pieces of at most piece_bytes, or a row,
// from every worker.
// REQUIRES: all of one shape; shape, division and piece_bytes (<= kPieceBytes) the same on every
// worker.
// THROWS what Transport::wait does; Error(kFailed) when int64 overflows.
Traffic allreduce(transport::Transport& transport, const Division& division,
                  std::span<const Partial> mine, Update& total,
                  std::size_t piece_bytes = kPieceBytes);

// All workers are equal: each sends (P-1)/P of the update twice. `shards`: 0: as many as workers.
// Where the shards of a worker are no whole subtree of the one order, it sends several partial
// sums. `touched`: the part of an update's bytes that a worker has for others to add, where updates
// are sparse.
Cost allreduce_cost(double update_bytes, int workers, int shards = 0, double touched = 1,
                    std::size_t piece_bytes = kPieceBytes);

}  // namespace meanwhile::exchange
