// How many vertices have each degree, and what follows from that alone for a cut of the graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/data/spread.h"

namespace meanwhile::graph {

struct DegreeCount {
  std::int64_t degree = 0, vertices = 0;
};
using Histogram = std::vector<DegreeCount>;

// Lines of a degree and the number of vertices that have it, in any order. THROWS Error(kInput)
// with file and line; all degrees together stay below 2^53.
Histogram read_histogram(const std::filesystem::path& path);

// Histogram of the degrees of all vertices: ascending, each degree once.
Histogram histogram_of(std::span<const std::int64_t> degrees);

std::int64_t vertices_in(const Histogram& histogram);
// Half the sum of degrees: each edge has two ends.
std::int64_t edges_in(const Histogram& histogram);

// Expected copies of a vertex that has edges: the shards in which it occurs.
//
// Edges dealt at random to `shards`.
double random_copies(const Histogram& histogram, int shards);
// Edges dealt by their end of lower degree, at random (configuration model): an upper estimate for
// cut(), which also keeps neighbours in the order of the file together.
double owner_copies(Histogram histogram, int shards);
// The same of all vertices, those without edges counted as one; for 2, 4, ... 64 workers with a
// shard each.
std::vector<std::pair<int, data::Spread>> owner_copies_by_workers(const Histogram& histogram);

// The most edges that one vertex can own, which is by how much a shard can exceed its share: k
// edges lead to k vertices of at least as high a degree. `parallel`: edges that two vertices can
// have between them; 2 in a directed graph.
std::int64_t most_owned(Histogram histogram, int parallel = 1);

}  // namespace meanwhile::graph
