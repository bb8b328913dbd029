// The trainings of a comparison: parameters with several values, and what they make together.
#pragma once

#include <cstddef>
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

}  // namespace meanwhile::tune
