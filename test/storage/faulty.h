// A store that does what stores may do at their worst, as often as a seed says: what the contracts
// allow (blobs that show late, messages that come twice), and what checksums are for (bytes cut
// short).
//
// Whether a fault befalls a call is a function of the seed, the kind of fault, the name of the blob
// or the body of the message, and how often that was asked before: not of time or threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "meanwhile/storage/store.h"

namespace meanwhile::storage {

struct Faults {
  std::uint64_t seed = 1;
  // Shares, 0 to 1.
  double late = 0;       // of what others write: the first gets, and the first lists, show the old
  int late_asks = 3;     // so many at most
  double cut = 0;        // of gets: the end of the bytes is missing, at least one
  double forgotten = 0;  // of put_if_absent: writes, but says that it did not
  double twice = 0;      // of messages that are pushed
  double undead = 0;     // of messages that are removed: says so, but they come back
  double slow = 0;       // of all calls
  double slow_s = 0.01;  // so long
};

// How often each was injected. Thread safety: any thread.
struct FaultCounts {
  std::atomic<int> late = 0, cut = 0, forgotten = 0, twice = 0, undead = 0, slow = 0;
};

// `injected` must outlive the store. What is written through a faulty store shows in it at once;
// give each worker one of its own.
Store make_faulty(Store store, const Faults& faults, FaultCounts& injected);

}  // namespace meanwhile::storage
