// Adjacency text (.graph-txt, .adj): the number of vertices, then a line for each with the vertices
// that it has edges to, counted from 0.
#include "meanwhile/data/files/graph/number_text.h"
#include "meanwhile/data/files/graph/reader.h"

namespace meanwhile::data {

namespace {

Edges read(const std::filesystem::path& path, int) {
  NumberText text(path);
  if (text.at_end()) text.fail("is empty");
  const std::int64_t vertices = text.whole_number("the number of vertices");
  if (vertices < 0 || !text.at_line_end()) text.expected("the number of vertices alone");
  text.next_line();
  Edges edges;
  edges.vertices = vertices;
  std::size_t count = 0;
  for (std::int64_t vertex = 0; vertex < vertices; ++vertex) {
    if (text.at_end()) text.fail(fmt::format("ends after {} of {} vertices", vertex, vertices));
    while (!text.at_line_end()) {
      const std::int64_t other = text.whole_number("a vertex");
      if (other < 0 || other >= vertices) {
        text.fail(fmt::format("found vertex {}, expected 0 to {}", other, vertices - 1));
      }
      edges.from.resize(count + 1);
      edges.to.resize(count + 1);
      edges.from[count] = vertex;
      edges.to[count++] = other;
    }
    text.next_line();
  }
  text.expect_end("vertices");
  return edges;
}

}  // namespace

constinit const GraphReader kAdjacencyReader = {.name = "adjacency",
                                                .title = "adjacency text",
                                                .file_names = {"*.graph-txt", "*.adj"},
                                                .read = read};

}  // namespace meanwhile::data
