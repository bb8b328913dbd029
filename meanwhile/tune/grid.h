// The trainings of a comparison: parameters with several values, and what they make together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/learn/comparing.h"
#include "meanwhile/learn/entry.h"

namespace meanwhile::tune {

using base::Json;

// A parameter of the learner and the values to try, without repeats.
struct Axis {
  std::string name;
  std::vector<Json> values;
};

// Every combination of a value of each axis, as an object by name; the last axis changes fastest.
// THROWS Error(kUsage) when there are none, or more than kMostCandidates.
inline constexpr std::size_t kMostCandidates = 10'000;
std::vector<Json> combinations(const std::vector<Axis>& axes);

// Candidates (their numbers) that differ in the parameter Comparing::path alone, in the order in
// which each may begin with the model of the one before. Without such a parameter among the axes
// each candidate is a chain of its own.
using Chain = std::vector<std::size_t>;
std::vector<Chain> chains(const std::vector<Json>& candidates, const learn::Comparing& comparing);

// The best value of an axis, where it is the smallest or the largest: a better one may lie beyond.
struct Edge {
  std::string name;      // of the axis
  bool largest = false;  // else the smallest
  Json next = {};        // the value beside the best one
};

// Nothing where the values are not at least three numbers, where `best` lies between others, and
// where it is the smallest and no more than `least`, below which there is nothing to try.
std::optional<Edge> edge_of(const Axis& axis, const Json& best, double least);

}  // namespace meanwhile::tune
