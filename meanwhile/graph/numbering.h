// Vertices as numbers from 0 on, in the order of their ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/edges.h"

namespace meanwhile::graph {

struct Numbering {
  std::int64_t vertices = 0;
  std::vector<std::int64_t> ids;   // empty: they are their numbers, or words
  std::vector<std::string> names;  // ids that are words, or numbers that no double holds
};

// Replaces the ends of `edges` by numbers. THROWS Error(kInput) for more than 2^30 vertices, and
// when there are neither edges nor vertices.
Numbering number_vertices(data::Edges& edges);

}  // namespace meanwhile::graph
