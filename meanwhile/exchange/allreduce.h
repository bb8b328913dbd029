// The sum of everybody's update, at everybody, without a root: worker w adds slice w of all updates
// and gives it to all (reduce-scatter, then all-gather).
#pragma once

#include <span>

#include "meanwhile/exchange/partial.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// Every worker calls it with the sums of the subtrees of its own shards,
// subtrees(owned(shards, rank, P), shards), and gets the sum over all shards in the one order, the
// same bits for every P. `total` must not overlap `mine`. Memory beside them: some pieces of
// at most piece_bytes from every worker.
// REQUIRES: all of one size; sizes and piece_bytes (<= transport::kShortMessage) the same on every
// worker. THROWS what Transport::wait does.
Traffic allreduce(transport::Transport& transport, int shards, std::span<const Partial> mine,
                  std::span<double> total, std::size_t piece_bytes = kPieceBytes);

// All workers are equal: each sends (P-1)/P of the update twice. `shards`: 0: as many as workers.
// Where the shards of a worker are no whole subtree of the one order, it sends several partial
// sums.
Cost allreduce_cost(double update_bytes, int workers, int shards = 0);

}  // namespace meanwhile::exchange
