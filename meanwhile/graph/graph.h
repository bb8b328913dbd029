// Graphs as rows of a data set.
//
// A graph of V vertices is V sparse rows in which every edge stands once, in the row of the vertex
// that owns it: the end of lower degree, or, of two ends with the same degree, the one with the
// lower number. Column j of row i is an edge to vertex j. A directed graph has 2 V columns: column
// V + j of row i is an edge that comes from j. Values are weights.
//
// So all that is done to rows is done to graphs: they are cut into shards, hashed, converted,
// mapped, sent to workers and put to stores. A vertex owns at most sqrt(2 E) of E edges, since each
// of its k owned neighbours has a degree of k at least: no row is long, however large its hub. (Two
// vertices of a directed graph may have two edges, and one owns 2 sqrt(E) at most.)
//
// Labels are the ids that the files give to vertices, where these are not 0 to V - 1; ids that are
// words are class names, in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/edges.h"

namespace meanwhile::graph {

inline bool is_directed(const data::Matrix& x) { return data::cols(x) != data::rows(x); }

// Treatment of an edge from a vertex to itself, and of one that is listed again.
enum class Loops { kKeep, kDrop };
enum class Duplicates {
  kMerge,  // one edge: weights add, an edge without weight stays 1
  kCount,  // parallel edges: an edge without weight weighs as often as it was listed
};

struct BuildOptions {
  bool directed = false;
  Loops loops = Loops::kKeep;
  Duplicates duplicates = Duplicates::kMerge;
  bool weights = true;  // false: those of the files do not count
  int threads = 1;
};

// Facts found in the lists.
struct Facts {
  std::int64_t listed = 0;      // edges, as they were listed
  std::int64_t loops = 0;       // vertices with an edge to themselves
  std::int64_t duplicates = 0;  // of them, listed before in the same direction
  std::int64_t both_ways = 0;   // edges of an undirected graph that were listed in both directions
};

// The graph of these edges. Vertices are numbered in the order of their ids. Of an undirected
// graph, the two directions are one edge: listed both ways, its weights must agree, and count once.
// THROWS Error(kInput) for weights that are not finite or negative, for directions that disagree,
// and for more than 2^30 vertices.
struct Built {
  data::Dataset data;
  Facts facts;
};
Built build(data::Edges edges, const BuildOptions& options);

// A graph that was built before, as these options have it: without loops, or with weights of 1.
// The treatment of duplicates is not changed.
data::Dataset filtered(data::Dataset graph, Loops loops, bool weights);

// The number of edges at each vertex: of those that leave, for a directed graph, and those that
// arrive. REQUIRES: all rows are held.
struct Degrees {
  std::vector<std::int32_t> out, in;  // `in`: of a directed graph only
};
Degrees degrees(const data::Sparse<float>& rows);

}  // namespace meanwhile::graph
