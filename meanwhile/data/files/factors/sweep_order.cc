// The order of a sweep: distances from the middle of each tree where the graph is a forest, else
// greedy colours.
#include <algorithm>
#include <numeric>
#include <optional>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/factors/factor_graph.h"

namespace meanwhile::data {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The factors of two variables or more at each variable.
struct Incidence {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> factors;

  explicit Incidence(const FactorGraph& graph) : start(graph.cards.size() + 1, 0) {
    const auto each = [&](const auto& use) {
      for (std::int64_t f = 0; f < graph.factors(); ++f) {
        const auto scope = graph.scope(f);
        if (scope.size() < 2) continue;
        for (const std::int32_t v : scope) use(at(v), f);
      }
    };
    each([&](std::size_t v, std::int64_t) { ++start[v + 1]; });
    std::partial_sum(start.begin(), start.end(), start.begin());
    factors.resize(at(start.back()));
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    each([&](std::size_t v, std::int64_t f) { factors[at(next[v]++)] = f; });
  }

  std::span<const std::int64_t> of(std::int64_t v) const {
    return std::span(factors).subspan(at(start[at(v)]), at(start[at(v) + 1] - start[at(v)]));
  }
};

// The tree of a variable, from that variable outwards.
struct Outwards {
  std::vector<std::int32_t> order, parent;  // variables; `parent` by place in `order`
};

// Nothing when a factor or a variable is met twice: then there is a loop.
std::optional<Outwards> walk(const FactorGraph& graph, const Incidence& incidence,
                             std::int32_t from, std::vector<std::int32_t>& seen,
                             std::vector<std::int32_t>& factor_seen, std::int32_t mark,
                             std::vector<std::int32_t>& distance) {
  Outwards tree;
  tree.order.push_back(from);
  tree.parent.push_back(-1);
  seen[at(from)] = mark;
  distance[at(from)] = 0;
  for (std::size_t i = 0; i < tree.order.size(); ++i) {
    const std::int32_t v = tree.order[i];
    for (const std::int64_t f : incidence.of(v)) {
      if (factor_seen[at(f)] == mark) continue;  // the one that led here
      factor_seen[at(f)] = mark;
      for (const std::int32_t u : graph.scope(f)) {
        if (u == v) continue;
        if (seen[at(u)] == mark) return std::nullopt;
        seen[at(u)] = mark;
        distance[at(u)] = distance[at(v)] + 1;
        tree.order.push_back(u);
        tree.parent.push_back(static_cast<std::int32_t>(i));
      }
    }
  }
  return tree;
}

// Distances from the middle of each tree; nothing when the graph is no forest. Three walks a tree:
// to an end, from there to the other end, and from the middle between them.
std::optional<std::vector<std::int32_t>> forest_order(const FactorGraph& graph,
                                                      const Incidence& incidence) {
  std::vector<std::int32_t> distance(graph.cards.size(), 0), seen(graph.cards.size(), 0);
  std::vector<std::int32_t> factor_seen(at(graph.factors()), 0);
  for (std::int32_t v = 0; v < graph.variables(); ++v) {
    if (seen[at(v)] != 0) continue;
    const auto first = walk(graph, incidence, v, seen, factor_seen, 1, distance);
    if (!first) return std::nullopt;
    const auto second = walk(graph, incidence, first->order.back(), seen, factor_seen, 2, distance);
    const std::int32_t length = distance[at(second->order.back())];
    auto middle = static_cast<std::int32_t>(second->order.size()) - 1;
    for (std::int32_t i = 0; i < length / 2; ++i) middle = second->parent[at(middle)];
    walk(graph, incidence, second->order[at(middle)], seen, factor_seen, 3, distance);
  }
  return distance;
}

// Variables that share a factor with a variable, once for each factor.
std::vector<std::int64_t> neighbours(const FactorGraph& graph, const Incidence& incidence) {
  std::vector<std::int64_t> count(graph.cards.size());
  for (std::int32_t v = 0; v < graph.variables(); ++v) {
    for (const std::int64_t f : incidence.of(v)) count[at(v)] += std::ssize(graph.scope(f)) - 1;
  }
  return count;
}

// A colour at distance two looks at all pairs of a variable's neighbours.
void check_pairs(const FactorGraph& graph, const Incidence& incidence) {
  constexpr double kMostPairs = 0x1p34;
  const std::vector<std::int64_t> count = neighbours(graph, incidence);
  double pairs = 0;
  for (const std::int64_t n : count) pairs += static_cast<double>(n) * static_cast<double>(n);
  if (pairs <= kMostPairs) return;
  const auto most = std::max_element(count.begin(), count.end());
  throw base::Error(base::ErrorKind::kUsage,
                    "{}: full consistency keeps the neighbours of a variable apart, and variable "
                    "{} has {}; use edge",
                    base::parameter("consistency"), most - count.begin(), *most);
}

// Calls use(u) for the variables that share a factor with v, itself among them.
template <class Use>
void over_neighbours(const FactorGraph& graph, const Incidence& incidence, std::int32_t v,
                     const Use& use) {
  for (const std::int64_t f : incidence.of(v)) {
    for (const std::int32_t u : graph.scope(f)) use(u);
  }
}

std::vector<std::int32_t> greedy_colours(const FactorGraph& graph, const Incidence& incidence,
                                         Consistency consistency) {
  const std::size_t count = graph.cards.size();
  std::vector<std::int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return incidence.of(a).size() > incidence.of(b).size();
  });
  std::vector<std::int32_t> colour(count, -1), taken(count + 1, -1);
  for (const std::int32_t v : order) {
    const auto exclude = [&](std::int32_t u) {
      if (colour[at(u)] >= 0) taken[at(colour[at(u)])] = v;
    };
    over_neighbours(graph, incidence, v, [&](std::int32_t u) {
      if (consistency == Consistency::kEdge) return exclude(u);
      over_neighbours(graph, incidence, u, exclude);
    });
    std::int32_t lowest = 0;
    while (taken[at(lowest)] == v) ++lowest;
    colour[at(v)] = lowest;
  }
  return colour;
}

}  // namespace

std::vector<std::int32_t> sweep_order(const FactorGraph& graph, Consistency consistency) {
  const Incidence incidence(graph);
  if (consistency == Consistency::kFull) {
    check_pairs(graph, incidence);
    return greedy_colours(graph, incidence, consistency);
  }
  if (auto order = forest_order(graph, incidence)) return *std::move(order);
  return greedy_colours(graph, incidence, consistency);
}

}  // namespace meanwhile::data
