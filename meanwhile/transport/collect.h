// Collective steps of all workers, over any transport. Every worker must make the same calls in the
// same order. All THROW what Transport::wait does.
//
// Each sends directly to each: P - 1 messages of data a worker and as many that say how long they
// are, with all data in memory at once. Meant for what is small or already spread evenly; updates
// are summed by exchange/.
#pragma once

#include <span>
#include <vector>

#include "meanwhile/transport/transport.h"

namespace meanwhile::transport {

// The bytes of all workers, by rank. Sizes may differ.
std::vector<Bytes> all_gather(Transport& transport, std::span<const std::byte> mine);

// to_each[r] goes to worker r; returns what came from each. REQUIRES: one for every worker.
std::vector<Bytes> all_to_all(Transport& transport, std::vector<Bytes> to_each);

// Returns when all workers have called it. log2(P) steps.
void barrier(Transport& transport);

}  // namespace meanwhile::transport
