#include "meanwhile/cli/flags/graph_flags.h"

#include "meanwhile/data/files/graph/graph_file.h"
#include "meanwhile/data/files/graph/reader.h"

namespace meanwhile::cli {

void GraphFlags::add_to(const FlagTable& table) {
  const auto graph = [](const Flag& flag) { flag.group("Graphs"); };
  graph(table.toggle("--directed", directed_, "read the files as a directed graph"));
  graph(table.toggle("--undirected", undirected_, "read the files as an undirected graph"));
  graph(table.choice("--loops", loops_, {"keep", "drop"},
                     "treatment of edges from a vertex to itself"));
  graph(table.choice("--duplicates", duplicates_, {"merge", "count"},
                     "treatment of edges that are listed twice: see 'train pagerank --help'"));
}

bool GraphFlags::is_graph(const std::vector<std::string>& files) const {
  if (directed_ || undirected_) return true;
  return !files.empty() && (data::is_graph_name(files.front()) || data::holds_graph(files.front()));
}

learn::graph::ReadGraph GraphFlags::read(const std::vector<std::string>& files,
                                         learn::graph::Direction direction, int threads) const {
  learn::graph::GraphInput input;
  input.directed = directed_;
  input.undirected = undirected_;
  input.loops = learn::parse_choice<learn::graph::Loops>("loops", loops_);
  input.duplicates = learn::parse_choice<learn::graph::Duplicates>("duplicates", duplicates_);
  validate(input, direction);
  return read_graph({files.begin(), files.end()}, input, direction, threads);
}

}  // namespace meanwhile::cli
