// The part of a graph that a worker holds: what learners of graphs need of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/graph/vertex_ids.h"

namespace meanwhile::learn::graph {

struct GraphPart {
  std::int64_t vertices = 0;
  bool directed = false;
  std::vector<std::int64_t> first_vertex;  // of each shard
};
// THROWS Error(kInput), `learner` first, when the rows are no graph.
GraphPart graph_part(const data::Part& part, const std::string& learner);

// Whether vertices have ids that are numbers but not those of their order. They belong to rows, so
// a worker knows those of its own shards alone: an update of int64 brings them together.
bool has_numbers(const data::Part& part);
// Puts the ids of a shard, whose first vertex is `first`, to their places.
void add_numbers(const data::Part& part, int shard, std::int64_t first,
                 std::span<std::int64_t> ids);
// The ids of all vertices, from block `block` of a total where has_numbers().
VertexIds ids_of(const data::Part& part, const exchange::Update& total, int block);

}  // namespace meanwhile::learn::graph
