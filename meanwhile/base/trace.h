// A trace: when each worker did what, as spans in the Chrome trace format, which Perfetto and
// chrome://tracing open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/mutex.h"

namespace meanwhile::base {

// Thread safety: all members may be called from any thread.
class Trace {
 public:
  Trace() : origin_s_(now_s()) {}

  // `name` must outlive the trace: a literal. `shard` < 0: not about a shard.
  void add(const char* name, int worker, std::int64_t round, int shard, double begin_s,
           double end_s);
  // A value that changes in time: Perfetto draws all of one name as a curve. `name` as above.
  void count(const char* name, double value, double at_s);
  // The whole trace as one JSON text.
  std::string json() const;

 private:
  struct Event {
    const char* name;
    int worker, shard;
    std::int64_t round;
    double begin_s, end_s;
  };
  struct Count {
    const char* name;
    double value, at_s;
  };
  double origin_s_;
  mutable Mutex mutex_;
  std::vector<Event> events_ MW_GUARDED_BY(mutex_);
  std::vector<Count> counts_ MW_GUARDED_BY(mutex_);
};

}  // namespace meanwhile::base
