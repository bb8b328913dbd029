// Graphs made from random numbers. Every edge is a pure function of (parameters, seed, number of
// the edge), so the graph is the same for any number of threads.
#pragma once

#include <cstdint>

#include "meanwhile/data/edges.h"
#include "meanwhile/graph/histogram.h"

namespace meanwhile::graph {

// The Kronecker graph of the Graph 500 and GAP benchmarks: 2^scale vertices and `edge_factor` times
// as many edges, loops and duplicates among them. Each bit of the two ends is drawn with
// probabilities 0.57, 0.19, 0.19, 0.05 (to 16 bits); vertices are renumbered at random. THROWS
// Error(kUsage) for a scale above 30.
data::Edges kronecker(int scale, std::int64_t edge_factor, std::uint64_t seed, int threads);

// Both ends of every edge uniform over all vertices.
data::Edges uniform_edges(std::int64_t vertices, std::int64_t edges, std::uint64_t seed,
                          int threads);

// The configuration model: ends of edges, as many at each vertex as its degree says, are joined in
// random pairs. Vertices come in the order of the list; where the degrees add up to an odd number,
// one end is left out. THROWS Error(kInput) for more than 2^35 edges.
data::Edges of_degrees(const Histogram& degrees, std::uint64_t seed);

}  // namespace meanwhile::graph
