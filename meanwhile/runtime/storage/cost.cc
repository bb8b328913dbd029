#include "meanwhile/runtime/storage/cost.h"

#include <algorithm>

namespace meanwhile::runtime {

namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace

StepCost step_cost(const Layout& layout, int workers) {
  const int busy = std::min(workers, layout.shards);
  const int shards = ceil_div(layout.shards, busy);  // of the worker that has most
  StepCost cost;
  cost.legs.push_back({Leg::Kind::kWrite, "update", static_cast<double>(shards), busy, false});
  cost.requests = layout.shards;
  cost.blobs_moved = layout.shards;
  int parts = layout.shards, own = shards;  // of the root
  if (layout.two_levels()) {
    const int adders = std::min(busy, layout.groups);
    const int groups = ceil_div(layout.groups, adders);
    // The holder of a group holds shards of it, as far as it can: see tasks_of(). The last group
    // may be smaller than the others.
    const int added = std::min(layout.shards, groups * layout.group_size);
    const double reads = std::max(0, added - shards);
    cost.legs.push_back({Leg::Kind::kRead, "gather", reads, adders, busy > 1});
    cost.legs.push_back({Leg::Kind::kWrite, "sum", static_cast<double>(groups), adders, false});
    const double of_others = layout.shards - adders * shards;
    const double gathered = std::clamp(of_others, reads, reads * adders);
    cost.requests += gathered + layout.groups * (busy == 1 ? 1 : 2);
    cost.blobs_moved += gathered + layout.groups;
    parts = layout.groups;
    own = groups;
  }
  const double reads = std::max(0, parts - own);
  cost.legs.push_back({Leg::Kind::kRead, "root", reads, 1, busy > 1});
  cost.legs.push_back({Leg::Kind::kWrite, "total", 1, 1, false});
  cost.requests += reads + 2;
  cost.blobs_moved += reads + 1;
  if (workers > 1) {
    cost.legs.push_back({Leg::Kind::kSpread, "spread", 1, workers - 1, true});
    cost.requests += workers - 1;
    cost.blobs_moved += workers - 1;
  }
  return cost;
}

StepCost separate_reducers_cost(int workers) {
  StepCost cost;
  if (workers <= 1) return cost;
  const int groups = static_cast<int>(std::ceil(std::sqrt(workers)));
  const auto many = static_cast<double>(groups);
  cost.legs = {{Leg::Kind::kWrite, "update", 1, workers, false},
               {Leg::Kind::kRead, "gather", many, groups, true},
               {Leg::Kind::kWrite, "sum", 1, groups, false},
               {Leg::Kind::kRead, "root", many, 1, true},
               {Leg::Kind::kWrite, "total", 1, 1, false},
               {Leg::Kind::kSpread, "spread", 1, workers, true}};
  cost.blobs_moved = 3 * workers + 2 * many + 1;
  cost.requests = cost.blobs_moved + many + 1;
  return cost;
}

}  // namespace meanwhile::runtime
