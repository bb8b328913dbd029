// The common part of the entries of vertex programs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/learn/entry.h"
#include "meanwhile/learn/graph/graph_input.h"
#include "meanwhile/learn/graph/vertex_learner.h"
#include "meanwhile/learn/graph/vertex_model.h"

namespace meanwhile::learn::graph {

// For Entry::warm_start: an answer about one graph says nothing of another.
[[noreturn]] inline std::unique_ptr<RoundLearner> no_warm_start(const data::SafetensorsFile&,
                                                                const Json&) {
  throw base::Error(base::ErrorKind::kUsage,
                    "{}: the graph is not the one of that run; train anew without it",
                    base::parameter("resume"));
}

// An entry but for its texts, schema.fix() and complete(). Make: Json -> learner, from parameters;
// with `fresh` false the files that parameters name are not read, as a state follows. `weighted`:
// whether weights of edges matter.
template <class Parameters, class Make>
Entry program_entry(std::string name, Direction direction, bool weighted, Make make) {
  Entry entry;
  entry.name = std::move(name);
  entry.schema = schema_of(Parameters{});
  fix_input(entry.schema);
  entry.must_converge = true;
  entry.mirrors = true;
  entry.reads =
      "a graph: list of edges, Matrix Market, METIS, adjacency text, GAP's .sg and .wsg, or what "
      "convert made of one; also .gz and .zst; several files, or - for standard input";
  entry.spread = meanwhile::graph::vertex_spread;
  entry.shape_of_graph = [](std::int64_t vertices, std::int64_t edges) {
    return Shape{.rows = vertices, .cols = vertices, .stored = edges, .sparse = true};
  };
  entry.row_name = "vertex";
  entry.value_name = "edge";
  entry.measures_shown = {"residual"};
  entry.measures_in_json = {"converged", "residual"};
  entry.read = [direction, weighted, of = entry.name](
                   const std::vector<std::filesystem::path>& files, const Json& parameters,
                   int threads) {
    GraphInput input = from_described<Parameters>(parameters, of).input;
    input.unweighted |= !weighted;
    return read_graph(files, input, direction, threads).data;
  };
  entry.make = [make](const Json& parameters) { return make(parameters, true); };
  entry.restore = [make](const data::SafetensorsFile& state, const Json& parameters) {
    auto learner = make(parameters, false);
    learner->restore(state);
    return learner;
  };
  entry.warm_start = no_warm_start;
  return entry;
}

}  // namespace meanwhile::learn::graph
