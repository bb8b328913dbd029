// Rows to the nodes that own their shards, from whichever node read them.
#pragma once

#include <cstddef>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// The blocks of the shards of node `rank` of `nodes` (see owned()), in order of row.
std::vector<data::RowRange> owned_blocks(const std::vector<data::Shard>& dealt, int rank,
                                         int nodes);

// Collective. Gives every node the rows of owned_blocks(dealt, rank, nodes), in order of row.
// `mine` are rows this node read: the nodes together hold every row of the data set just once, and
// agree in type, columns and names. Rows travel in steps of about `step_bytes` a node, and what was
// sent is given back, so that a node needs little more memory than the larger of what it read and
// what it gets. REQUIRES: nobody else uses the memory behind `mine.data`. THROWS what the transport
// does.
data::Dataset redistribute(transport::Transport& transport, data::SomeRows mine,
                           const std::vector<data::Shard>& dealt,
                           std::size_t step_bytes = std::size_t{16} << 20);

}  // namespace meanwhile::job
