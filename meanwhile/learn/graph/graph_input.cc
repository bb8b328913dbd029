#include "meanwhile/learn/graph/graph_input.h"

#include <fmt/format.h>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/graph/graph_file.h"
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::learn::graph {

namespace {

using base::counted;
using base::Error;
using base::ErrorKind;
using base::parameter;
using meanwhile::graph::Facts;

bool is_directed(const data::Edges& edges, const GraphInput& input, Direction direction,
                 const std::string& name) {
  if (input.directed) {
    if (edges.directed == false) {
      throw Error(ErrorKind::kUsage, "{}: {} says that its edges have no direction",
                  parameter("directed"), name);
    }
    return true;
  }
  if (input.undirected || direction == Direction::kIgnored) return false;
  if (!edges.directed) {
    throw Error(ErrorKind::kUsage, "{}: does not say whether edges have a direction; give {} or {}",
                name, parameter("directed"), parameter("undirected"));
  }
  if (*edges.directed && direction == Direction::kNone) {
    throw Error(ErrorKind::kUsage, "{}: its edges have a direction; {} ignores it", name,
                parameter("undirected"));
  }
  return *edges.directed;
}

// Notes on the files and what was done with their oddities; none where all is plain.
void note_facts(const Facts& facts, const GraphInput& input, std::vector<std::string>& notes) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (facts.loops > 0) {
    add(fmt::format("{} {}", counted(facts.loops, "loop"),
                    input.loops == Loops::kKeep ? "kept" : "dropped"));
  }
  if (facts.duplicates > 0) {
    const bool merge = input.duplicates == Duplicates::kMerge;
    add(fmt::format("{} {}", counted(facts.duplicates, "duplicate"), merge ? "merged" : "counted"));
  }
  if (facts.both_ways > 0) {
    add(fmt::format("{} listed both ways taken once", counted(facts.both_ways, "edge")));
  }
  if (text.empty()) return;
  notes.push_back(fmt::format("{} in the files: {}", counted(facts.listed, "edge"), text));
}

}  // namespace

void fix_input(Schema& schema) {
  schema.fix({"directed", "undirected", "loops", "duplicates", "unweighted", "format"})
      .rare({"loops", "duplicates", "unweighted"});
}

void validate(const GraphInput& input, Direction direction) {
  data::parse_graph_format(input.format);
  if (input.directed && input.undirected) {
    throw Error(ErrorKind::kUsage, "{} and {} cannot both hold", parameter("directed"),
                parameter("undirected"));
  }
  if (input.directed && direction == Direction::kNone) {
    throw Error(ErrorKind::kUsage, "{}: this learner takes edges without direction",
                parameter("directed"));
  }
}

ReadGraph read_graph(const std::vector<std::filesystem::path>& files, const GraphInput& input,
                     Direction direction, int threads) {
  const std::string name = data::display_name(files.front());
  if (files.size() == 1 && data::is_graph_file(files.front())) {
    data::Dataset data = data::read_graph_file(files.front());
    const bool directed = meanwhile::graph::is_directed(data.x);
    const bool other =
        directed ? input.undirected || direction == Direction::kNone : input.directed;
    if (other) {
      throw Error(ErrorKind::kUsage, "{}: its edges have {} direction; convert it again", name,
                  directed ? "a" : "no");
    }
    return {meanwhile::graph::filtered(std::move(data), input.loops, !input.unweighted), {}};
  }
  data::Edges edges = data::read_edges(files, data::parse_graph_format(input.format), threads);
  meanwhile::graph::BuildOptions options;
  options.directed = is_directed(edges, input, direction, name);
  options.loops = input.loops;
  options.duplicates = input.duplicates;
  options.weights = !input.unweighted;
  options.threads = threads;
  try {
    auto built = meanwhile::graph::build(std::move(edges), options);
    note_facts(built.facts, input, built.data.notes);
    return {std::move(built.data), built.facts};
  } catch (Error& error) {
    throw error.in(name);
  }
}

}  // namespace meanwhile::learn::graph
