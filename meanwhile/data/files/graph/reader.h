// Formats of graphs. A new one is a source file that defines its reader, and a line in readers.cc.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/edges.h"

namespace meanwhile::data {

struct GraphReader {
  std::string_view name;   // value of --format
  std::string_view title;  // name of the format in documents
  // Names of its files before .gz or .zst, as in Reader.
  std::array<std::string_view, 4> file_names = {};
  // The edges of one file. THROWS Error(kInput), the name of the file first.
  Edges (*read)(const std::filesystem::path& path, int threads);
};

extern const GraphReader kEdgeListReader, kMatrixMarketReader, kMetisReader, kAdjacencyReader,
    kGapReader;

// All formats, in the order in which help and messages name them.
std::span<const GraphReader* const> graph_readers();
// THROWS Error(kUsage) naming the known ones; null for "auto".
const GraphReader* parse_graph_format(const std::string& name);

// Whether the name of a file is one that a format of graphs has.
bool is_graph_name(const std::filesystem::path& path);

// The edges of several files, which must be of one format; that of `format`, or each file's name
// tells, and a list of edges is what no name tells. THROWS Error(kInput) for a file that is wrong,
// and for edges of which only some have weights.
Edges read_edges(const std::vector<std::filesystem::path>& paths, const GraphReader* format,
                 int threads);

}  // namespace meanwhile::data
