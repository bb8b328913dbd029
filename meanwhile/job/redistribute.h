// Moves rows from the workers that read them to the workers that hold their shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// The blocks of some shards, in order of row.
std::vector<data::RowRange> blocks_in(const std::vector<data::Shard>& dealt,
                                      exchange::Range shards);
// The blocks of the shards of worker `rank` of `workers` (see exchange::owned), in order of row.
std::vector<data::RowRange> owned_blocks(const std::vector<data::Shard>& dealt, int rank,
                                         int workers);

// Where `block` lies when the rows of `held`, blocks in order of row, follow each other.
// REQUIRES: it is one of them; block_rows is that of the whole data set.
data::RowRange local_block(std::span<const data::RowRange> held, data::RowRange block,
                           std::int64_t block_rows);

// Collective. Gives worker w the rows of the shards held[w], in order of row; a row may go to
// several workers. Nothing in `held`: every worker gets the rows of the shards it owns.
// `mine` are the rows that this worker read: the workers together hold every row of the data set
// exactly once, and agree in type, columns and names. Rows travel in steps of about `step_bytes` a
// worker. Memory of rows that were sent is discarded, so a worker needs little more memory than the
// larger of the rows it read and the rows it gets. REQUIRES: `mine.data` lies in Buffers, and no
// other Dataset shares them. THROWS what the transport throws.
data::Dataset redistribute(transport::Transport& transport, data::SomeRows mine,
                           const std::vector<data::Shard>& dealt,
                           std::size_t step_bytes = std::size_t{16} << 20,
                           std::span<const exchange::Range> held = {});

}  // namespace meanwhile::job
