// A shard of a graph with numbers of its own for the vertices that occur in it. What a round reads
// and writes of a shard is then as small as the shard, however large the graph: the cut is also
// what keeps a round in the cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/large_pages.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/matrix.h"

namespace meanwhile::graph {

struct ShardGraph {
  // The vertices that occur: vertex v of the shard is vertices[v] of the graph. They come in
  // groups, each of which ascends: first the few that most edges meet, then more that many meet,
  // and so on, so that what is used often lies together in the caches.
  base::LargeVector<std::uint32_t> vertices;
  std::vector<std::size_t> group_ends;
  // A vertex and its edges: the vertex of the shard, and where its edges end in `others`; they
  // begin where those of the row before it end. Short rows come first. Edges to others come first,
  // then those from others (of a directed graph).
  struct Row {
    std::uint32_t vertex = 0;
    std::uint32_t out_end = 0, in_end = 0;
  };
  std::vector<Row> rows;
  base::LargeVector<std::uint32_t> others;  // the other end of each edge, a vertex of the shard
  std::vector<float> weights;               // one an edge; empty: all are 1
  // Edges from a vertex to itself, which are in no row.
  struct Loop {
    std::uint32_t vertex = 0;
    float weight = 1;
  };
  std::vector<Loop> loops;

  double weight(std::size_t edge) const {
    return weights.empty() ? 1 : static_cast<double>(weights[edge]);
  }
};

// The rows of a shard that cut() made, which follow each other: however they are put into blocks.
// REQUIRES: the shard is held.
inline data::RowRange rows_of(const data::Shard& shard) {
  if (shard.blocks.empty()) return {};
  return {shard.blocks.front().begin, shard.blocks.back().end};
}

// The row that an edge stands in.
enum class RowOf {
  kOwner,       // as in the graph
  kFewerEdges,  // that of the end with fewer edges in the shard: the other ends are then fewer
};

// The shard whose rows are `range` of `rows`, the first of which is vertex `first` of the graph.
// THROWS Error(kInput) for 2^31 edges and more.
ShardGraph shard_graph(const data::Sparse<float>& rows, data::RowRange range, std::int64_t first,
                       std::int64_t vertices, RowOf row_of);

}  // namespace meanwhile::graph
