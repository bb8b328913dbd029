// The sum of all workers' updates, at every worker, through a root: groups of about sqrt(P) workers
// send to the head of the group, heads add and send to worker 0, and the total goes back the same
// way. What Spark's treeAggregate followed by a broadcast does; here to be compared with.
#pragma once

#include <span>

#include "meanwhile/exchange/partial.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::exchange {

// As allreduce() in every respect but where pieces are added: the same arguments, the same bits.
Traffic tree(transport::Transport& transport, const Division& division,
             std::span<const Partial> mine, Update& total, std::size_t piece_bytes = kPieceBytes);

// The root has most to do: it receives what every member of its group and every other head has, and
// when it has them all, sends the total to each. Since the two do not overlap, both are counted.
// `shards`: 0: as many as workers. Where the shards of a worker or group are no whole subtree of
// the one order, it sends several partial sums.
Cost tree_cost(double update_bytes, int workers, int shards = 0,
               std::size_t piece_bytes = kPieceBytes);

}  // namespace meanwhile::exchange
