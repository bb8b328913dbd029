// How long a step takes when workers of different speeds share the work well; pure.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace meanwhile::runtime {

// Seconds until the last of `shards` equal shards is done, when each goes to the worker that would
// finish it first. `shard_s`: seconds that each worker takes for one shard. REQUIRES: they are
// positive, and there is one.
inline double balanced_seconds(int shards, const std::vector<double>& shard_s) {
  using Next = std::pair<double, double>;  // when the worker would finish one more; for one
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (const double seconds : shard_s) next.emplace(seconds, seconds);
  double last_s = 0;
  for (int shard = 0; shard < shards; ++shard) {
    const auto [end_s, seconds] = next.top();
    next.pop();
    last_s = end_s;
    next.emplace(end_s + seconds, seconds);
  }
  return last_s;
}

}  // namespace meanwhile::runtime
