// Flags that make a command read its files as a graph, as the learners of graphs do.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/learn/graph/graph_input.h"

namespace meanwhile::cli {

class GraphFlags {
 public:
  // This object must outlive the parsing.
  void add_to(const FlagTable& table);
  // Whether the files are a graph: a flag says so, or the name of the first does.
  bool is_graph(const std::vector<std::string>& files) const;
  // THROWS Error(kUsage, kInput).
  learn::graph::ReadGraph read(const std::vector<std::string>& files,
                               learn::graph::Direction direction, int threads) const;

 private:
  bool directed_ = false, undirected_ = false;
  std::string loops_ = "keep", duplicates_ = "merge";
};

}  // namespace meanwhile::cli
