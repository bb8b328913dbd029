// Data that every worker reads from end to end: graphs, which learners read themselves
// (learn::Entry::read) into sparse rows.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/job/load.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Calls read() and cuts the rows into shards of consecutive rows (graph/cut.h). Worker p of P keeps
// the rows of the shards [S p / P, S (p + 1) / P); shards, hash and label values are the same for
// every P. Without a transport, or with one of a single worker, this worker holds all rows.
// Collective. THROWS what read() throws, the same error on every worker; Error(kUsage) for a pipe
// if there are several workers; Error(kInput) when workers did not read the same rows. `copies`:
// not null: is asked for Part::copies.
data::Part load_whole(const std::vector<std::filesystem::path>& paths,
                      const std::function<data::Dataset()>& read, const LoadOptions& options,
                      int threads, transport::Transport* transport,
                      const graph::SpreadOf& spread = nullptr);

}  // namespace meanwhile::job
