// The times and limits a storage worker goes by, in one place: the simulator (plan/simulate) reads
// the same numbers.
#pragma once

#include <cstdint>

namespace meanwhile::runtime {

// A shard's update is late when a step has taken kSlow times as long as the step before, and at
// least kSlowAtLeastSeconds. An idle worker then makes the update itself. Idle workers list what is
// late at most once in kSlowAtLeastSeconds.
inline constexpr double kSlow = 2;
inline constexpr double kSlowAtLeastSeconds = 0.5;

// A worker writes its heartbeat every third of the lease, and at least every kBeatSeconds. Others
// count it as alive until two beats and kLateSeconds have passed.
inline constexpr double kBeatSeconds = 5;
inline constexpr double kLateSeconds = 1;

// Between two looks whether the job has gone ahead or ended. When the heartbeats hint at the end,
// kHintedLookSeconds.
inline constexpr double kLookSeconds = 1;
inline constexpr double kHintedLookSeconds = 0.1;
// The longest sleep of a worker that waits: stop requests are seen within this time.
inline constexpr double kLongestWaitSeconds = 0.1;
// The worker that wrote the result waits so long for the others to read it before it removes the
// rounds.
inline constexpr double kPatienceSeconds = 10;

// A worker waits so long before it takes more than its fair share of the tasks.
inline constexpr double kGraceSeconds = 1;

// Steps between two saves of the shards' memory (doc/storage.md, "Memory", says how it was chosen).
inline constexpr std::int64_t kMemoryEvery = 8;

}  // namespace meanwhile::runtime
