// Who did what when: spans in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::base {

// Seconds on a clock that never goes back.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Thread safety: all members may be called from any thread.
class Trace {
 public:
  Trace() : origin_s_(now_s()) {}

  // `name` must outlive the trace: a literal. `shard` < 0: not about a shard.
  void add(const char* name, int worker, std::int64_t round, int shard, double begin_s,
           double end_s);
  // The whole trace as one JSON text.
  std::string json() const;

 private:
  struct Event {
    const char* name;
    int worker, shard;
    std::int64_t round;
    double begin_s, end_s;
  };
  double origin_s_;
  mutable std::mutex mutex_;  // guards events_
  std::vector<Event> events_;
};

// From construction to destruction, one event of `trace`; none if it is null.
class Span {
 public:
  Span(Trace* trace, const char* name, int worker, std::int64_t round, int shard = -1)
      : trace_(trace),
        name_(name),
        worker_(worker),
        shard_(shard),
        round_(round),
        begin_s_(now_s()) {}
  ~Span() {
    if (trace_ != nullptr) trace_->add(name_, worker_, round_, shard_, begin_s_, now_s());
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Trace* trace_;
  const char* name_;
  int worker_, shard_;
  std::int64_t round_;
  double begin_s_;
};

}  // namespace meanwhile::base
