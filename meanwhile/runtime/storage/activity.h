// How a worker is driven: from outside, by whatever calls its activities and keeps the time.
//
// A worker does four things at the same time. Each is an activity with a step(now): it does what
// can be done now, and returns what it waits for and until when. No activity sleeps, starts a
// thread or asks a clock of its own, so that the same code runs on threads (worker.cc) and, on one
// thread, in a simulation.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

namespace meanwhile::runtime {

enum class Activity {
  kRounds,     // works on shards, absorbs totals, takes tasks
  kReduce,     // adds the updates of the groups held, so that downloads overlap the work
  kHeartbeat,  // renews leases, and writes that the worker lives
  kUpload,     // puts states and metrics beside the work
};
inline constexpr std::array kActivities = {Activity::kRounds, Activity::kReduce,
                                           Activity::kHeartbeat, Activity::kUpload};
inline constexpr std::size_t index(Activity activity) { return static_cast<std::size_t>(activity); }

// The event that an activity waits for.
enum class Awaits {
  kNothing,   // there is more to do: call step() again at once
  kState,     // a state to begin from
  kRows,      // the rows of a shard
  kTotal,     // the total of the step
  kParts,     // updates or sums to add
  kResult,    // the result, which the worker that holds the root writes
  kUploads,   // what this worker puts beside the work
  kPresence,  // certainty whether the job is still at the store
  kOthers,    // the other workers, which must read the result first
  kTime,      // the next heartbeat
  kWake,      // wake()
  kEnd,       // nothing: the activity is over, step() need not be called any more
};

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Wait {
  Awaits what = Awaits::kNothing;
  // step() must be called again at this time, or after wake(), whichever comes first.
  double until_s = 0;
};

// The world outside of a worker. Thread safety: any thread.
class Environment {
 public:
  virtual ~Environment() = default;
  // Seconds on a clock that never goes back.
  virtual double time_s() = 0;
  // The activity is called soon. One that is in its step now is called once more.
  virtual void wake(Activity activity) = 0;
};

}  // namespace meanwhile::runtime
