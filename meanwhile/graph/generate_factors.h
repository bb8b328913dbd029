// Graphical models made from random numbers, as UAI files. A model is a pure function of its
// parameters and the seed.
#pragma once

#include <cstdint>
#include <filesystem>

namespace meanwhile::graph {

// A grid of rows x cols variables with `states` states each; neighbours are joined. With two states
// (Ising) a variable has the field exp(h x) and an edge exp(J x y), x and y being -1 or 1; with
// more (Potts) a state has the field exp(h) and an edge exp(J) where states agree. h and J are
// uniform in -coupling/2 to coupling/2, as in "Relaxed scheduling for scalable belief propagation"
// (Aksenov et al., 2020).
struct GridModel {
  std::int64_t rows = 100, cols = 100;
  int states = 2;
  double coupling = 2;
};
void write_grid(const std::filesystem::path& path, const GridModel& model, std::uint64_t seed);

// A random tree: each variable but the first is joined to one before it. Tables are uniform in 0.1
// to 1.
struct TreeModel {
  std::int64_t variables = 1000;
  int states = 2;
};
void write_tree(const std::filesystem::path& path, const TreeModel& model, std::uint64_t seed);

}  // namespace meanwhile::graph
