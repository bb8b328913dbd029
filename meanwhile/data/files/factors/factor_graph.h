// A factor graph as its file describes it: variables with finitely many states, and factors that
// give every joint state of some of them a weight that is not negative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::data {

// Entries of the table of one factor, zeros included: a larger table is refused before memory is
// taken for it.
inline constexpr std::int64_t kMostTableEntries = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostVariables = std::int64_t{1} << 29;
// Limit for all variables together, and for all tables together, zeros included: a short file can
// name more than any memory holds.
inline constexpr std::int64_t kMostStatesOfAll = std::int64_t{1} << 29;
inline constexpr std::int64_t kMostEntriesOfAll = std::int64_t{1} << 30;

// A table is in canonical order: its scope ascends, and the last variable is the fastest. Zeros are
// not stored.
struct FactorGraph {
  std::vector<std::int32_t> cards;  // number of states of each variable, at least 1

  std::vector<std::int64_t> scope_start = {0};
  std::vector<std::int32_t> scopes;  // strictly ascending in each factor
  std::vector<std::int64_t> entry_start = {0};
  std::vector<std::int32_t> places;  // of the entries in their table, strictly ascending
  std::vector<double> values;        // > 0 and finite

  std::int64_t variables() const { return static_cast<std::int64_t>(cards.size()); }
  std::int64_t factors() const { return static_cast<std::int64_t>(scope_start.size()) - 1; }
  std::span<const std::int32_t> scope(std::int64_t factor) const {
    const auto f = static_cast<std::size_t>(factor);
    return std::span(scopes).subspan(static_cast<std::size_t>(scope_start[f]),
                                     static_cast<std::size_t>(scope_start[f + 1] - scope_start[f]));
  }
  struct Entries {
    std::span<const std::int32_t> places;
    std::span<const double> values;
  };
  Entries entries(std::int64_t factor) const {
    const auto f = static_cast<std::size_t>(factor);
    const auto begin = static_cast<std::size_t>(entry_start[f]);
    const auto count = static_cast<std::size_t>(entry_start[f + 1]) - begin;
    return {std::span(places).subspan(begin, count), std::span(values).subspan(begin, count)};
  }
  // Entries of the table, zeros included.
  std::int64_t table_size(std::int64_t factor) const {
    std::int64_t size = 1;
    for (const std::int32_t variable : scope(factor)) {
      size *= cards[static_cast<std::size_t>(variable)];
    }
    return size;
  }

  // Adds a factor. REQUIRES: as for the members above.
  void add(std::span<const std::int32_t> scope, std::span<const std::int32_t> entry_places,
           std::span<const double> entry_values) {
    scopes.insert(scopes.end(), scope.begin(), scope.end());
    scope_start.push_back(static_cast<std::int64_t>(scopes.size()));
    places.insert(places.end(), entry_places.begin(), entry_places.end());
    values.insert(values.end(), entry_values.begin(), entry_values.end());
    entry_start.push_back(static_cast<std::int64_t>(values.size()));
  }
};

// The state of some variables, as it was observed.
struct Observation {
  std::int32_t variable = 0, state = 0;
};

// THROWS Error(kInput) where a graph exceeds kMostStatesOfAll or kMostEntriesOfAll.
void check_sizes(const FactorGraph& graph);

// The same distribution given the observations: tables are sliced, an observed variable leaves all
// scopes, and a factor of its own allows its observed state alone. A variable that no factor
// mentions gets one of ones. THROWS Error(kInput) that names the factor when a table has no entry
// left: its file, or the evidence, allows no state at all.
FactorGraph with_evidence(const FactorGraph& graph, std::span<const Observation> observed);

// Which variables a round of a sweep must not renew together: those that share a factor (edge), or
// also those that both share a factor with a third (full).
enum class Consistency { kEdge, kFull };

// The place of a variable in the order of a sweep.
//
// Order of the variables. In a forest with kEdge: the distance from the middle of the tree, in
// variables; children of one factor have the same. Otherwise the lowest colour that no variable has
// which it excludes, variables of many factors first, ties by number. THROWS Error(kUsage) for
// kFull where variables
std::vector<std::int32_t> sweep_order(const FactorGraph& graph, Consistency consistency);

}  // namespace meanwhile::data
