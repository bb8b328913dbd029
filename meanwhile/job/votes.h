// How votes travel between workers: behind an update, or by themselves.
#pragma once

#include <cstdint>
#include <span>

#include "meanwhile/job/engine.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Numbers in a block of votes, which add up as the votes do.
inline constexpr std::int64_t kVotes = 3;
void write(const Votes& votes, std::span<double> block);
Votes read(std::span<const double> block);

// The votes of all workers, where a worker without a shard has no update to put its own behind.
// Collective.
Votes gathered(transport::Transport& transport, const Votes& mine);

}  // namespace meanwhile::job
