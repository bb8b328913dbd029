// Readers of graphs: the first byte says which. What is read is built, cut and walked.
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/graph/shard.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;
namespace graph = meanwhile::graph;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // A file may say that it has many vertices without edges: they take memory, and are no mistake.
  constexpr std::int64_t kMostVertices = 100'000;
  if (size == 0) return 0;
  const auto readers = data::graph_readers();
  static fuzz::MemoryFile file;
  file.set(fuzz::as_bytes(bytes + 1, size - 1));
  for (const bool directed : {false, true}) {
    fuzz::outcome([&] {
      data::Edges edges = readers[bytes[0] % readers.size()]->read(file.path(), 1);
      if (edges.vertices.value_or(0) > kMostVertices) return;
      graph::BuildOptions options;
      options.directed = directed;
      const graph::Built built = graph::build(std::move(edges), options);
      const auto& rows = std::get<data::Sparse<float>>(built.data.x);
      std::int64_t found = 0;
      for (const data::Shard& shard :
           graph::cut({rows.row_start, static_cast<std::size_t>(rows.rows) + 1}, 3)) {
        const data::RowRange range = graph::rows_of(shard);
        const graph::ShardGraph part =
            graph::shard_graph(rows, range, range.begin, rows.rows, graph::RowOf::kFewerEdges);
        found += std::ssize(part.others) + std::ssize(part.loops);
        for (const std::uint32_t other : part.others) {
          if (part.vertices.at(other) >= rows.rows) fuzz::fail("a vertex that there is not");
        }
      }
      if (found != data::stored(built.data.x)) fuzz::fail("edges were lost in the cut");
    });
  }
  return 0;
}
