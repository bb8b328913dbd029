// The cut of a graph into shards: pure functions of degrees, order and number of shards.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/data/matrix.h"
#include "meanwhile/data/spread.h"

namespace meanwhile::graph {

// Consecutive rows for each shard, with about as many edges: at most E / S + sqrt(2 E) of E, or
// 2 sqrt(E) where edges have a direction. Some
// shards are empty if there are fewer rows. REQUIRES: shards >= 1, row_start has rows + 1 entries.
std::vector<data::Shard> cut(std::span<const std::int64_t> row_start, int shards);

// How a graph lies in its shards.
struct CutFacts {
  double copies = 0;            // shards in which a vertex with edges occurs, on average
  std::int64_t mirrors = 0;     // of all vertices: shards in which they occur but for one
  std::int64_t most_edges = 0;  // of a shard
  // Vertices of other shards that a shard has, or of its own that others have: the most.
  std::int64_t most_mirrors = 0;
};
CutFacts count_copies(const data::Sparse<float>& rows, const std::vector<data::Shard>& shards);

// On which workers vertices are, if worker w has the rows of_workers[w]; vertices without edges are
// on one. Not known for rows that are no graph.
data::Spread vertex_spread(const data::Matrix& rows, std::span<const data::RowRange> of_workers);

// spread(rows, rows of workers) by numbers of workers, each of which has one shard: 2 to 8, where
// one more makes a difference, then powers of two up to 64. Empty for dense rows. REQUIRES: all
// rows are held.
using SpreadOf = std::function<data::Spread(const data::Matrix&, std::span<const data::RowRange>)>;
std::vector<std::pair<int, data::Spread>> spread_by_workers(const data::Matrix& rows,
                                                            const SpreadOf& spread);

}  // namespace meanwhile::graph
