// METIS's form (.graph): a line for each vertex with its neighbours, counted from 1. Every edge is
// there twice, once at each end.
#include "meanwhile/data/files/graph/number_text.h"
#include "meanwhile/data/files/graph/reader.h"

namespace meanwhile::data {

namespace {

void skip_comments(NumberText& text) {
  while (!text.at_end() && text.peek() == '%') text.take_line();
}

Edges read(const std::filesystem::path& path, int) {
  NumberText text(path);
  skip_comments(text);
  if (text.at_end()) text.fail("ends before its sizes");
  const std::int64_t vertices = text.whole_number("the number of vertices");
  const std::int64_t said = text.whole_number("the number of edges");
  std::int64_t form = 0, vertex_weights = 0;
  if (!text.at_line_end()) form = text.whole_number("the form, such as 001");
  vertex_weights = form / 10 % 10;  // one, unless the next number says how many
  if (!text.at_line_end()) vertex_weights *= text.whole_number("the number of vertex weights");
  if (!text.at_line_end()) text.expected("the end of the line");
  if (vertices < 0 || said < 0 || form < 0 || form > 111 || form % 10 > 1 || form / 10 % 10 > 1 ||
      vertex_weights < 0) {
    text.fail("found sizes that no graph has");
  }
  text.next_line();
  const bool sized = form >= 100, weighted = form % 10 == 1;

  Edges edges;
  edges.vertices = vertices;
  edges.first_id = 1;
  edges.directed = false;
  edges.both_ways = true;
  std::size_t count = 0;
  for (std::int64_t vertex = 0; vertex < vertices; ++vertex) {
    skip_comments(text);
    if (text.at_end()) text.fail(fmt::format("ends after {} of {} vertices", vertex, vertices));
    if (sized) text.whole_number("the size of a vertex");
    for (std::int64_t i = 0; i < vertex_weights; ++i) text.number("the weight of a vertex");
    while (!text.at_line_end()) {
      const std::int64_t other = text.whole_number("a neighbour");
      if (other < 1 || other > vertices) {
        text.fail(fmt::format("found neighbour {}, expected 1 to {}", other, vertices));
      }
      edges.from.resize(count + 1);
      edges.to.resize(count + 1);
      edges.from[count] = vertex;
      edges.to[count] = other - 1;
      if (weighted) {
        edges.weights.resize(count + 1);
        edges.weights[count] = text.number("the weight of an edge");
      }
      ++count;
    }
    text.next_line();
  }
  skip_comments(text);
  text.expect_end("vertices");
  if (static_cast<std::int64_t>(count) != 2 * said) {
    text.fail(
        fmt::format("found {} neighbours of all vertices, expected {}: each of {} edges twice",
                    count, 2 * said, said));
  }
  return edges;
}

}  // namespace

constinit const GraphReader kMetisReader = {
    .name = "metis", .title = "METIS", .file_names = {"*.graph", "*.metis"}, .read = read};

}  // namespace meanwhile::data
