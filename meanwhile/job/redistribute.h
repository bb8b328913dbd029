// Moves rows from the workers that read them to the workers that own their shards.
#pragma once

#include <cstddef>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// The blocks of the shards of worker `rank` of `workers` (see exchange::owned), in order of row.
std::vector<data::RowRange> owned_blocks(const std::vector<data::Shard>& dealt, int rank,
                                         int workers);

// Collective. Gives every worker the rows of owned_blocks(dealt, rank, workers), in order of row.
// `mine` are the rows that this worker read: the workers together hold every row of the data set
// exactly once, and agree in type, columns and names. Rows travel in steps of about `step_bytes` a
// worker. Memory of rows that were sent is discarded, so a worker needs little more memory than the
// larger of the rows it read and the rows it gets. REQUIRES: `mine.data` lies in Buffers, and no
// other Dataset shares them. THROWS what the transport throws.
data::Dataset redistribute(transport::Transport& transport, data::SomeRows mine,
                           const std::vector<data::Shard>& dealt,
                           std::size_t step_bytes = std::size_t{16} << 20);

}  // namespace meanwhile::job
