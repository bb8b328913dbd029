// Graphs as files of other programs.
#pragma once

#include <filesystem>
#include <string>

#include "meanwhile/data/dataset.h"

namespace meanwhile::graph {

// Endings of the names that write() takes: ".el, .mtx, ..."
std::string written_endings();
bool is_written(const std::filesystem::path& path);

// Writes a graph (graph.h) whose rows are all held, in the form that the name tells: a list of
// edges (.el, with weights .wel), Matrix Market (.mtx), GAP (.sg, with weights .wsg), or
// .safetensors. An undirected edge stands once in lists and matrices. Ids that are not 0 to V - 1
// can be told in lists and .safetensors alone. The file appears when all of it is written. THROWS
// Error(kUsage) for another name, or for weights or ids that the form cannot hold; Error(kSystem).
void write(const std::filesystem::path& path, const data::Dataset& graph);

}  // namespace meanwhile::graph
