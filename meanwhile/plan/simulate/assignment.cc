#include "meanwhile/plan/simulate/assignment.h"

#include <algorithm>
#include <string_view>

namespace meanwhile::plan {

namespace {

// Where the n-th of `of` equal pieces of `all` begins. The product may be larger than an int holds.
int cut(int all, int n, int of) {
  return static_cast<int>(static_cast<std::int64_t>(all) * n / of);
}

int adders_of(const runtime::StepCost& cost) {
  for (const runtime::Leg& leg : cost.legs) {
    if (leg.name == std::string_view("gather")) return leg.at_once;
  }
  return 0;
}

}  // namespace

Assignment assignment_of(const SimInput& input, const runtime::StepCost& cost) {
  const bool separate = input.machine.storage->separate_reducers;
  const int P = input.workers, units = separate ? P : input.shards();
  Assignment assignment;
  assignment.machines = P;
  assignment.busy = std::min(P, units);
  assignment.units_of.resize(static_cast<std::size_t>(P));
  for (int worker = 0; worker < assignment.busy; ++worker) {
    const Assignment::Units its = {cut(units, worker, assignment.busy),
                                   cut(units, worker + 1, assignment.busy)};
    assignment.units_of[static_cast<std::size_t>(worker)] = its;
    assignment.owner_of.insert(assignment.owner_of.end(),
                               static_cast<std::size_t>(its.last - its.first), worker);
    assignment.most_units = std::max(assignment.most_units, its.last - its.first);
  }

  const int adders = adders_of(cost);
  assignment.adders.resize(static_cast<std::size_t>(adders) + 1);
  const runtime::Layout layout = runtime::layout_of(units);
  for (int unit = 0; unit < units; ++unit) {
    const int adder = adders == 0 ? 0
                      : separate  ? cut(unit, adders, units)
                                  : cut(layout.group_of(unit), adders, layout.groups);
    assignment.adder_of.push_back(adder);
    Assignment::Adder& its = assignment.adders[static_cast<std::size_t>(adder)];
    if (its.parts++ == 0) its.who = assignment.owner_of[static_cast<std::size_t>(unit)];
  }
  Assignment::Adder& root = assignment.adders.back();
  if (adders > 0) root = {assignment.owner_of.back(), adders, 0};
  if (separate) {
    for (Assignment::Adder& adder : assignment.adders) adder.who = assignment.machines++;
  }

  for (std::size_t unit = 0; unit < assignment.owner_of.size(); ++unit) {
    Assignment::Adder& its = assignment.adders[static_cast<std::size_t>(assignment.adder_of[unit])];
    its.read += assignment.owner_of[unit] != its.who;
  }
  for (int i = 0; i < adders; ++i) {
    const Assignment::Adder& adder = assignment.adders[static_cast<std::size_t>(i)];
    root.read += adder.who != root.who;
    assignment.most_read = std::max(assignment.most_read, adder.read);
  }
  assignment.root_read = std::max(1, root.read);
  return assignment;
}

StepSeconds step_seconds(const Storage& storage, const runtime::StepCost& cost,
                         const Assignment& assignment, double update_bytes) {
  StepSeconds pieces;
  for (const runtime::Leg& leg : cost.legs) {
    const std::string_view name = leg.name;
    const double seconds = leg_seconds(storage, leg, update_bytes);
    if (name == "update") pieces.put = seconds / assignment.most_units;
    if (name == "gather") pieces.gather = seconds / assignment.most_read;
    if (name == "sum") pieces.sum = seconds;
    if (name == "root") pieces.root = seconds / assignment.root_read;
    if (name == "total") pieces.total = seconds;
    if (name == "spread") pieces.spread = seconds;
  }
  return pieces;
}

}  // namespace meanwhile::plan
