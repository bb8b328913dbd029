// Files of factor graphs: UAI (MARKOV and BAYES) with evidence, and libDAI's .fg. Names that end in
// .gz or .zst are decompressed.
#pragma once

#include <filesystem>
#include <vector>

#include "meanwhile/data/files/factors/factor_graph.h"

namespace meanwhile::data {

// All of these THROW Error(kInput): the file, the line, what was found and what would be right.

// Whether a file of this name holds a factor graph: .uai and .fg.
bool is_factor_name(const std::filesystem::path& path);

// Reads libDAI's format from a name that ends in .fg, and UAI's from any other.
FactorGraph read_factor_graph(const std::filesystem::path& path);

// UAI: the last variable of a scope is the fastest.
FactorGraph read_uai(const std::filesystem::path& path);
// libDAI: the first variable is the fastest, and tables list their entries that are not zero.
FactorGraph read_fg(const std::filesystem::path& path);

// UAI's evidence. Two forms are in use, "n v x v x ..." and "1 n v x v x ..."; the count of numbers
// tells them apart. A file without numbers has no evidence.
std::vector<Observation> read_evidence(const std::filesystem::path& path, const FactorGraph& graph);

}  // namespace meanwhile::data
