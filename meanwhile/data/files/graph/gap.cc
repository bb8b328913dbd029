// The GAP benchmark's files (.sg, with weights .wsg): a byte that says whether edges are directed,
// the numbers of edges and vertices, offsets, and the other end of each edge. A directed graph has
// the edges again by their targets, which are not read. An undirected one lists each edge at both
// ends, and counts both.
#include <cstring>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

class Bytes {
 public:
  explicit Bytes(const std::filesystem::path& path) : bytes_(TextSource(path).rest()) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  const std::byte* take(std::size_t size) {
    if (bytes_.size() - at_ < size) {
      throw Error(ErrorKind::kInput, "is cut short: it has {} bytes", bytes_.size());
    }
    at_ += size;
    return bytes_.data() + at_ - size;
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  const base::Buffer<std::byte> bytes_;
  std::size_t at_ = 0;
};

Edges edges_in(const std::filesystem::path& path) {
  Bytes bytes(path);
  const bool weighted = uncompressed_name(path).extension() == ".wsg";
  const auto directed = bytes.get<std::uint8_t>();
  const auto edges_said = bytes.get<std::int64_t>(), vertices = bytes.get<std::int64_t>();
  const auto most = static_cast<std::int64_t>(bytes.left() / 4);
  if (directed > 1 || edges_said < 0 || vertices < 0 || edges_said > most || vertices > most) {
    throw Error(ErrorKind::kInput, "is no graph of the GAP benchmark, or is cut short");
  }
  const auto count = static_cast<std::size_t>(edges_said);
  const auto rows = static_cast<std::size_t>(vertices);
  std::vector<std::int64_t> starts(rows + 1);
  std::memcpy(starts.data(), bytes.take((rows + 1) * 8), (rows + 1) * 8);
  const std::size_t entry = weighted ? 8 : 4;
  const std::byte* ends = bytes.take(count * entry);
  if (starts.front() != 0 || starts.back() != edges_said) {
    throw Error(ErrorKind::kInput, "is damaged: its offsets do not run from 0 to {}", edges_said);
  }
  Edges edges;
  edges.vertices = vertices;
  edges.directed = directed == 1;
  edges.both_ways = directed == 0;
  edges.from.resize(count);
  edges.to.resize(count);
  if (weighted) edges.weights.resize(count);
  for (std::size_t v = 0; v < rows; ++v) {
    if (starts[v] > starts[v + 1] || starts[v + 1] > edges_said) {
      throw Error(ErrorKind::kInput, "is damaged: offset {} of vertex {} falls", starts[v + 1], v);
    }
    for (auto k = static_cast<std::size_t>(starts[v]); k < static_cast<std::size_t>(starts[v + 1]);
         ++k) {
      std::int32_t other = 0, weight = 1;
      std::memcpy(&other, ends + k * entry, 4);
      if (weighted) std::memcpy(&weight, ends + k * entry + 4, 4);
      if (other < 0 || other >= vertices) {
        throw Error(ErrorKind::kInput, "is damaged: vertex {} has an edge to {}", v, other);
      }
      edges.from[k] = static_cast<std::int64_t>(v);
      edges.to[k] = other;
      if (weighted) edges.weights[k] = weight;
    }
  }
  return edges;
}

Edges read(const std::filesystem::path& path, int) {
  try {
    return edges_in(path);
  } catch (Error& error) {
    throw error.in(display_name(path));
  }
}

}  // namespace

constinit const GraphReader kGapReader = {
    .name = "sg", .title = "GAP benchmark", .file_names = {"*.sg", "*.wsg"}, .read = read};

}  // namespace meanwhile::data
