#include "test/plan/papers/belief.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace meanwhile::plan::papers {

double edges_twice(const graph::Histogram& degrees, int n) {
  const auto V = static_cast<double>(graph::vertices_in(degrees)),
             E = static_cast<double>(graph::edges_in(degrees));
  return V > 1 ? E * (V - n) / (1.0 * n * n * (V - 1)) : 0;
}

double edges_of_largest(const graph::Histogram& degrees, int n) {
  if (n == 1) return static_cast<double>(graph::edges_in(degrees));
  std::vector<std::int64_t> sums(static_cast<std::size_t>(n), 0);
  std::int64_t dealt = 0;
  for (const graph::DegreeCount& entry : degrees) {
    // All get the same of whole turns; the rest goes to those whose turn it is.
    const std::int64_t rest = entry.vertices % n;
    for (std::int64_t& sum : sums) sum += entry.vertices / n * entry.degree;
    for (std::int64_t i = 0; i < rest; ++i) {
      sums[static_cast<std::size_t>((dealt + i) % n)] += entry.degree;
    }
    dealt += rest;
  }
  return static_cast<double>(*std::max_element(sums.begin(), sums.end())) - edges_twice(degrees, n);
}

double belief_speedup(const graph::Histogram& degrees, int n) {
  return static_cast<double>(graph::edges_in(degrees)) / edges_of_largest(degrees, n);
}

double balanced_speedup(const graph::Histogram& degrees, double rest, int n) {
  if (n == 1) return 1;
  const double owned = static_cast<double>(graph::most_owned(degrees)) /
                       static_cast<double>(graph::edges_in(degrees));
  return 1 / (1.0 / n + owned + rest);
}

double rest_of_two(double speedup) { return 1 / speedup - 0.5; }

}  // namespace meanwhile::plan::papers
