// The parameters of belief propagation, each described once.
#pragma once

#include <cstdint>
#include <string>

#include "meanwhile/data/files/factors/factor_graph.h"
#include "meanwhile/learn/choice.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::data {

// Found beside the enum by parameters of this type.
inline constexpr learn::Named<Consistency> kConsistencies[] = {{Consistency::kEdge, "edge"},
                                                               {Consistency::kFull, "full"}};
constexpr std::span<const learn::Named<Consistency>> names(Consistency) { return kConsistencies; }

}  // namespace meanwhile::data

namespace meanwhile::learn::belief {

// Which messages a round renews.
enum class Schedule { kAuto, kFlood, kSweep, kResidual };
inline constexpr Named<Schedule> kSchedules[] = {{Schedule::kAuto, "auto"},
                                                 {Schedule::kFlood, "flood"},
                                                 {Schedule::kSweep, "sweep"},
                                                 {Schedule::kResidual, "residual"}};
constexpr std::span<const Named<Schedule>> names(Schedule) { return kSchedules; }

struct Parameters {
  std::string evidence;
  Schedule schedule = Schedule::kAuto;
  data::Consistency consistency = data::Consistency::kEdge;
  bool map = false;
  double damping = 0;
  double tol = 1e-6;
  std::int64_t max_iter = 2000;
  double top = 0.01;
  double clip = 40;
  bool exact_messages = true;
};

// Calls visit(name, field, help) for each parameter.
template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("evidence", p.evidence, "file of observed states, in the form of UAI; empty: none");
  visit("schedule", p.schedule,
        "messages renewed in a round: flood (all), sweep (those into variables of "
        "one colour), residual (those that would change most); auto: sweep, then "
        "residual, then both with damping");
  visit("consistency", p.consistency,
        "variables that a round of sweep keeps apart: edge (those that share a factor), full (also "
        "those that share a neighbour)");
  visit("map", p.map, "find the most probable state by max-product instead of marginals");
  visit("damping", p.damping, "weight of the old message in the new one, in logarithms; below 1");
  visit("tol", p.tol,
        "converged when making any message anew would change no weight by more than this; the "
        "largest weight of a message is 1");
  visit("max_iter", p.max_iter,
        "most sweeps of an attempt; a sweep renews as many messages as there are, in "
        "one round or more");
  visit("top", p.top, "fraction of all messages that a round of residual renews");
  visit("clip", p.clip, "largest difference of logarithms in a message, but for hard zeros");
  visit("exact_messages", p.exact_messages,
        "round messages to a grid, so that sums are exact and results do not depend on shards");
}

// THROWS Error(kUsage) naming the parameter and what is allowed.
void validate(const Parameters& parameters);

Json to_json(const Parameters& parameters);
Parameters parameters_from_json(const Json& json);

}  // namespace meanwhile::learn::belief
