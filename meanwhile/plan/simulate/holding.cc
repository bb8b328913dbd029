#include "meanwhile/plan/simulate/holding.h"

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

Holding holding_of(const SimInput& ground, const runtime::StepCost& cost) {
  const bool separate = ground.machine.storage->separate_reducers;
  const int P = ground.workers, units = separate ? P : ground.shards();
  Holding holding;
  holding.machines = P;
  holding.busy = std::min(P, units);
  holding.units_of.resize(static_cast<std::size_t>(P));
  for (int worker = 0; worker < holding.busy; ++worker) {
    const Holding::Units its = {cut(units, worker, holding.busy),
                                cut(units, worker + 1, holding.busy)};
    holding.units_of[static_cast<std::size_t>(worker)] = its;
    holding.owner_of.insert(holding.owner_of.end(), static_cast<std::size_t>(its.last - its.first),
                            worker);
    holding.most_units = std::max(holding.most_units, its.last - its.first);
  }

  const int adders = adders_of(cost);
  holding.adders.resize(static_cast<std::size_t>(adders) + 1);
  const runtime::Layout layout = runtime::layout_of(units);
  for (int unit = 0; unit < units; ++unit) {
    const int adder = adders == 0 ? 0
                      : separate  ? cut(unit, adders, units)
                                  : cut(layout.group_of(unit), adders, layout.groups);
    holding.adder_of.push_back(adder);
    Holding::Adder& its = holding.adders[static_cast<std::size_t>(adder)];
    if (its.parts++ == 0) its.who = holding.owner_of[static_cast<std::size_t>(unit)];
  }
  Holding::Adder& root = holding.adders.back();
  if (adders > 0) root = {holding.owner_of.back(), adders, 0};
  if (separate) {
    for (Holding::Adder& adder : holding.adders) adder.who = holding.machines++;
  }

  for (std::size_t unit = 0; unit < holding.owner_of.size(); ++unit) {
    Holding::Adder& its = holding.adders[static_cast<std::size_t>(holding.adder_of[unit])];
    its.read += holding.owner_of[unit] != its.who;
  }
  for (int i = 0; i < adders; ++i) {
    const Holding::Adder& adder = holding.adders[static_cast<std::size_t>(i)];
    root.read += adder.who != root.who;
    holding.most_read = std::max(holding.most_read, adder.read);
  }
  holding.root_read = std::max(1, root.read);
  return holding;
}

Pieces pieces_of(const Storage& storage, const runtime::StepCost& cost, const Holding& holding,
                 double update_bytes) {
  Pieces pieces;
  for (const runtime::Leg& leg : cost.legs) {
    const std::string_view name = leg.name;
    const double seconds = leg_seconds(storage, leg, update_bytes);
    if (name == "update") pieces.put = seconds / holding.most_units;
    if (name == "gather") pieces.gather = seconds / holding.most_read;
    if (name == "sum") pieces.sum = seconds;
    if (name == "root") pieces.root = seconds / holding.root_read;
    if (name == "total") pieces.total = seconds;
    if (name == "spread") pieces.spread = seconds;
  }
  return pieces;
}

}  // namespace meanwhile::plan
