// Graphs that convert wrote: sparse rows (graph/graph.h) in a safetensors file that is mapped.
#pragma once

#include <filesystem>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// Whether the name is that of a safetensors file.
bool is_graph_file(const std::filesystem::path& path);

// Whether it is one that write_graph_file() wrote; false also for a file that cannot be read.
bool holds_graph(const std::filesystem::path& path);

// THROWS Error(kInput) when the file is damaged, or holds rows that are no graph.
Dataset read_graph_file(const std::filesystem::path& path);

// Writes `graph`, sealed, and `facts` for later readers (a JSON object). The file appears when all
// of it is written. THROWS Error(kSystem).
void write_graph_file(const std::filesystem::path& path, const Dataset& graph,
                      const std::string& facts);

}  // namespace meanwhile::data
