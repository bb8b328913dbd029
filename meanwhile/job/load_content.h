// Rows that several workers read, dealt by content (data/content.h).
#pragma once

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/part.h"
#include "meanwhile/job/load.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Rows that this worker read. The workers together have every row of the data set once, and agree
// in type, columns and names.
struct ReadRows {
  const data::Dataset& data;
  data::RowRange rows;  // of `data`
  data::Whole whole;    // of the data set
};

// Collective. Whether the data set has at most data::kSmallRows distinct rows. THROWS what the
// transport throws.
bool is_small(transport::Transport& transport, const ReadRows& mine, base::Threads threads);

// Collective. The part of this worker: the rows of the shards it owns (exchange::owned). Rows
// travel in steps of about `step_bytes` a worker; memory of rows that were sent is given back.
// REQUIRES: the rows lie in a mapped file, or in Buffers that no other Dataset shares.
// THROWS what data::deal_content and the transport throw, the same error on every worker.
data::Part load_content(transport::Transport& transport, const ReadRows& mine,
                        const LoadOptions& options, base::Threads threads,
                        std::size_t step_bytes = std::size_t{16} << 20);

}  // namespace meanwhile::job
