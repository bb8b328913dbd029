// Rows twice: beside the rows of its own shards a worker holds those of the shards that it may take
// from its neighbours (steal.h).
#pragma once

#include <cstdint>

#include "meanwhile/data/part.h"
#include "meanwhile/job/prepare.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// THROW Error(kUsage) when the run asks for replicas that its learner, or its workers, cannot use.
void check_replicas(const SettledRun& run);
void check_replicas(const RunSpec& spec, const Deployment& deployment);

// Collective. Gives the shards of exchange::held() their rows, where `part` has those of the shards
// that this worker owns; `seed` is that of the deal. A worker then needs memory for about twice its
// own rows. Where every worker maps the whole file, no row moves, unless rows are dealt by content.
// REQUIRES: several workers; no other Dataset shares the memory of the rows.
// THROWS what the transport throws; what fails here ends all workers.
void replicate(transport::Transport& transport, data::Part& part, std::uint64_t seed);
// The same for all rows of a run, which says how many it takes.
void replicate(transport::Transport& transport, LoadedRun& loaded, std::uint64_t seed,
               Observer& observer);

}  // namespace meanwhile::job
