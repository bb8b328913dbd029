// A graph as files list it: pairs of vertices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/buffer.h"

namespace meanwhile::data {

struct Edges {
  // The ends of each edge, by the ids of the files; or, with names, by their place among them.
  base::Buffer<std::int64_t> from, to;
  base::Buffer<double> weights;  // one an edge, or empty: every edge weighs 1
  // Present: ids are 0 to this, and a vertex may have no edge. Else the vertices are those that
  // have one.
  std::optional<std::int64_t> vertices;
  std::int64_t first_id = 0;     // what the file calls vertex 0, where `vertices` is present
  std::optional<bool> directed;  // where the format says so
  bool both_ways = false;        // the format lists an undirected edge at each of its ends
  // Ids that are words: one a vertex, in any order, no word twice. Empty: ids are numbers.
  std::vector<std::string> names;
  std::vector<std::string> notes;  // what a user should know of how the files were read

  std::size_t size() const { return from.size(); }
};

}  // namespace meanwhile::data
