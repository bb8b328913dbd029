// Belief propagation on the cores of one computer, as "Modeling Scalability of Distributed Machine
// Learning" (Ulanov et al.) models it from the degrees of a graph alone.
//
// The time is that of the worker with most edges. Vertices are dealt to workers in turn, in the
// order of their degrees; a worker's edges are the sum of its degrees, less the edges that are
// expected to have both ends with it, which are counted twice:
//
//   E(n) = max_i (sum of degrees of worker i)  -  E (V - n) / (n^2 (V - 1)),    E(1) = E
//
// The paper says that vertices are dealt at random and divides by n once more; its numbers come
// from what is here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::plan::papers {

// How many vertices have a degree: degrees rise.
struct Degrees {
  struct Entry {
    std::int64_t degree = 0, vertices = 0;
  };
  std::vector<Entry> entries;

  std::int64_t vertices() const;
  std::int64_t edges() const;  // half of the sum of degrees
  std::int64_t max_degree() const { return entries.back().degree; }
};

// A line for each degree: the degree, blanks, how many vertices have it. THROWS Error(kInput) that
// names file, line and what is wrong: no numbers, negative, degrees that do not rise, no vertices,
// an odd sum of degrees (each edge has two ends).
Degrees parse_degrees(std::string_view text, const std::string& name);
Degrees read_degrees(const std::filesystem::path& path);

// REQUIRES: n >= 1.
double edges_twice(const Degrees& degrees, int n);
double edges_of_largest(const Degrees& degrees, int n);
double belief_speedup(const Degrees& degrees, int n);

// Workers that hold a copy of a vertex, on average, when edges are put at random: a vertex of
// degree d is where at least one of its d edges is.
double replicas(const Degrees& degrees, int n);

}  // namespace meanwhile::plan::papers
