// How learners of graphs read their files, and the parameters that say so.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/learn/choice.h"
#include "meanwhile/learn/schema.h"

namespace meanwhile::graph {

using learn::Named;
inline constexpr Named<Loops> kLoopsNames[] = {{Loops::kKeep, "keep"}, {Loops::kDrop, "drop"}};
constexpr std::span<const Named<Loops>> names(Loops) { return kLoopsNames; }
inline constexpr Named<Duplicates> kDuplicatesNames[] = {{Duplicates::kMerge, "merge"},
                                                         {Duplicates::kCount, "count"}};
constexpr std::span<const Named<Duplicates>> names(Duplicates) { return kDuplicatesNames; }

}  // namespace meanwhile::graph

namespace meanwhile::learn::graph {

using meanwhile::graph::Duplicates;
using meanwhile::graph::Loops;

struct GraphInput {
  bool directed = false, undirected = false;
  Loops loops = Loops::kKeep;  // a learner may have another default
  Duplicates duplicates = Duplicates::kMerge;
  bool unweighted = false;
  std::string format = "auto";
};

// A part of the describe() of learners whose parameters have an `input`.
template <class Input, class Visit>
void describe_input(Input& p, Visit&& visit) {
  visit("directed", p.directed, "edges point from their first vertex to their second");
  visit("undirected", p.undirected, "edges have no direction");
  visit("loops", p.loops, "treatment of edges from a vertex to itself");
  visit("duplicates", p.duplicates,
        "edges that are listed again: merge makes one of them, whose weight is the sum of those in "
        "the file; count makes edges without weights weigh as often as they are listed");
  visit("unweighted", p.unweighted, "ignore the weights of the file");
  visit("format", p.format,
        "auto (by the name of the file; else a list of edges), edges, mtx, metis, adjacency, sg");
}

// Marks those parameters in a schema: none can change in a run.
void fix_input(Schema& schema);

// Whether direction matters to a learner.
enum class Direction {
  kMatters,  // the user, or the format, says which
  kIgnored,  // both give the same answer
  kNone,     // graphs that are directed are refused
};

// THROWS Error(kUsage) for parameters that contradict each other, or `direction`.
void validate(const GraphInput& input, Direction direction);

// The graph in `files`: lists of edges and the like, or one that convert wrote. Loops and
// duplicates are counted in its notes. THROWS Error(kUsage) when neither flag nor format says
// whether edges have a direction, Error(kInput).
struct ReadGraph {
  data::Dataset data;
  meanwhile::graph::Facts facts;  // zeros for a graph that convert wrote
};
ReadGraph read_graph(const std::vector<std::filesystem::path>& files, const GraphInput& input,
                     Direction direction, int threads);

}  // namespace meanwhile::learn::graph
