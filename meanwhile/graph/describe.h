// Describes a graph for `inspect`, `convert` and the planner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/data/matrix.h"

namespace meanwhile::graph {

// Vertices, edges, degrees (largest, mean, vertices without edges, the number of vertices of each
// degree), loops, weights; and, for 2 to 64 shards, how many shards a vertex is in (`copies`) and
// the edges of the largest shard: exact, and the most that the degrees alone allow to expect.
// REQUIRES: all rows are held.
base::Json describe(const data::Sparse<float>& rows);

}  // namespace meanwhile::graph
