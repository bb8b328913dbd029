#include "meanwhile/base/trace.h"

#include <fmt/core.h>

namespace meanwhile::base {

void Trace::add(const char* name, int worker, std::int64_t round, int shard, double begin_s,
                double end_s) {
  MutexLock lock(mutex_);
  events_.push_back({name, worker, shard, round, begin_s - origin_s_, end_s - origin_s_});
}

void Trace::count(const char* name, double value, double at_s) {
  MutexLock lock(mutex_);
  counts_.push_back({name, value, at_s - origin_s_});
}

std::string Trace::json() const {
  MutexLock lock(mutex_);
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const char* separator = "";
  for (const Event& e : events_) {
    text += fmt::format(
        R"({}{{"name":"{}","ph":"X","pid":0,"tid":{},"ts":{:.1f},"dur":{:.1f},"args":)"
        R"({{"round":{})",
        separator, e.name, e.worker, e.begin_s * 1e6, (e.end_s - e.begin_s) * 1e6, e.round);
    if (e.shard >= 0) text += fmt::format(",\"shard\":{}", e.shard);
    text += "}}";
    separator = ",\n";
  }
  for (const Count& c : counts_) {
    text += fmt::format(R"({}{{"name":"{}","ph":"C","pid":0,"ts":{:.1f},"args":{{"value":{}}}}})",
                        separator, c.name, c.at_s * 1e6, c.value);
    separator = ",\n";
  }
  text += "\n]}\n";
  return text;
}

}  // namespace meanwhile::base
