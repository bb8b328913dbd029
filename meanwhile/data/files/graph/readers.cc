#include <algorithm>
#include <unordered_map>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_names.h"
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr const GraphReader* kGraphReaders[] = {&kEdgeListReader, &kMatrixMarketReader,
                                                &kMetisReader, &kAdjacencyReader, &kGapReader};

// The reader whose files have such a name, or null.
const GraphReader* reader_of(const std::filesystem::path& path) {
  const std::string name = uncompressed_name(path).filename().string();
  for (const GraphReader* reader : kGraphReaders) {
    if (fits_any(name, reader->file_names)) return reader;
  }
  return nullptr;
}

template <class T>
void append(base::Buffer<T>& to, const base::Buffer<T>& more) {
  const std::size_t before = to.size();
  to.resize(before + more.size());
  std::copy(more.begin(), more.end(), to.begin() + before);
}

// Ends by their place among `names` of all files, which grow by those of `edges`.
void use_names_of(Edges& edges, std::vector<std::string>& names,
                  std::unordered_map<std::string, std::int64_t>& places) {
  std::vector<std::int64_t> place;
  for (const std::string& name : edges.names) {
    const auto [found, is_new] = places.try_emplace(name, static_cast<std::int64_t>(names.size()));
    if (is_new) names.push_back(name);
    place.push_back(found->second);
  }
  for (auto* ends : {&edges.from, &edges.to}) {
    for (std::int64_t& id : ends->span()) id = place[static_cast<std::size_t>(id)];
  }
}

// Adds the edges of another file.
void join(Edges& all, const Edges& edges) {
  append(all.from, edges.from);
  append(all.to, edges.to);
  append(all.weights, edges.weights);
  all.notes.insert(all.notes.end(), edges.notes.begin(), edges.notes.end());
}

}  // namespace

std::span<const GraphReader* const> graph_readers() { return kGraphReaders; }

const GraphReader* parse_graph_format(const std::string& name) {
  if (name == "auto") return nullptr;
  std::vector<std::string> names = {"auto"};
  for (const GraphReader* reader : kGraphReaders) {
    if (reader->name == name) return reader;
    names.emplace_back(reader->name);
  }
  throw Error(ErrorKind::kUsage, "format '{}' is unknown for graphs; known are {}", name,
              list_text(names));
}

bool is_graph_name(const std::filesystem::path& path) { return reader_of(path) != nullptr; }

Edges read_edges(const std::vector<std::filesystem::path>& paths, const GraphReader* format,
                 int threads) {
  Edges all;
  std::vector<std::string> names;
  std::unordered_map<std::string, std::int64_t> places;
  for (const auto& path : paths) {
    const GraphReader* reader = format != nullptr ? format : reader_of(path);
    if (reader == nullptr) reader = &kEdgeListReader;
    Edges edges = reader->read(path, threads);
    const bool words = !edges.names.empty();
    if (words && paths.size() > 1) use_names_of(edges, names, places);
    if (&path == &paths.front()) {
      all = std::move(edges);
      continue;
    }
    const bool alike = all.weights.empty() == edges.weights.empty() &&
                       all.names.empty() == !words && all.vertices == edges.vertices &&
                       all.first_id == edges.first_id && all.directed == edges.directed &&
                       all.both_ways == edges.both_ways;
    if (!alike) {
      throw Error(ErrorKind::kInput,
                  "{}: is not as {}: the two differ in weights, in ids that are words, in the "
                  "number of vertices they state, or in direction",
                  display_name(path), display_name(paths.front()));
    }
    join(all, edges);
  }
  if (!names.empty()) all.names = std::move(names);
  return all;
}

}  // namespace meanwhile::data
