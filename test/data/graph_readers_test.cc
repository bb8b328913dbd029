// Readers of graphs: one graph in all formats, and what is wrong with a file is said with its
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/data/files/graph/vertex_values.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using Pairs = std::multiset<std::pair<std::int64_t, std::int64_t>>;

class GraphReaders : public testing::Test {
 protected:
  Edges read(const std::string& name, const std::string& text, int threads = 2) {
    const auto path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return read_edges({path}, nullptr, threads);
  }
  std::string error(const std::string& name, const std::string& text) {
    return input_error_of([&] { read(name, text); });
  }
  static Pairs pairs(const Edges& edges) {
    Pairs found;
    for (std::size_t i = 0; i < edges.size(); ++i) found.insert({edges.from[i], edges.to[i]});
    return found;
  }
  TemporaryFolder folder_;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// 0 -> 1, 0 -> 2, 2 -> 0 of three vertices.
std::string gap_text(char directed, const std::vector<std::int64_t>& starts,
                     const std::vector<std::int32_t>& ends) {
  return std::string(1, directed) +
         bytes_of<std::int64_t>({static_cast<std::int64_t>(ends.size()),
                                 static_cast<std::int64_t>(starts.size()) - 1}) +
         bytes_of(starts) + bytes_of(ends);
}

TEST_F(GraphReaders, AllFormatsGiveTheSameEdges) {
  const Pairs expected = {{0, 1}, {0, 2}, {2, 0}};
  EXPECT_EQ(pairs(read("a.el", "0 1\n0 2\n2 0\n")), expected);
  EXPECT_EQ(pairs(read("a.txt", "# Nodes: 3\n0\t1\r\n\n0\t2\r\n2\t0")), expected);
  EXPECT_EQ(pairs(read("a.csv", "source,target\n0,1\n0,2\n2,0\n")), expected);
  EXPECT_EQ(pairs(read("b.csv", "a;b\n0;1\n0;2\n2;0\n")), expected);
  EXPECT_EQ(pairs(read("a.mtx",
                       "%%MatrixMarket matrix coordinate pattern general\n% a comment\n"
                       "3 3 3\n1 2\n1 3\n3 1\n")),
            expected);
  EXPECT_EQ(pairs(read("a.adj", "3\n1 2\n\n0\n")), expected);
  const Edges gap = read("a.sg", gap_text(1, {0, 2, 2, 3}, {1, 2, 0}));
  EXPECT_EQ(pairs(gap), expected);
  EXPECT_EQ(gap.directed, true);
  EXPECT_EQ(gap.vertices, 3);
}

TEST_F(GraphReaders, MetisListsEveryEdgeTwice) {
  const Edges edges = read("a.graph", "% a comment\n4 2 001\n2 5\n1 5 3 7\n2 7\n\n");
  EXPECT_EQ(edges.directed, false);
  EXPECT_TRUE(edges.both_ways);
  EXPECT_EQ(edges.vertices, 4);
  EXPECT_EQ(pairs(edges), (Pairs{{0, 1}, {1, 0}, {1, 2}, {2, 1}}));
  EXPECT_THAT(edges.weights.span(), ElementsAre(5, 5, 7, 7));
}

TEST_F(GraphReaders, WeightsComeThird) {
  EXPECT_THAT(read("a.wel", "5 7 0.25\n7 5 1e3\n").weights.span(), ElementsAre(0.25, 1000));
  const Edges matrix =
      read("w.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 -0.5\n");
  EXPECT_THAT(matrix.weights.span(), ElementsAre(3, -0.5));
  EXPECT_EQ(matrix.directed, false);
  std::string gap = gap_text(0, {0, 1, 2}, {1, 9, 0, 9});
  const std::int64_t two = 2;
  std::memcpy(gap.data() + 1, &two, 8);
  EXPECT_THAT(read("a.wsg", gap).weights.span(), ElementsAre(9, 9));
}

TEST_F(GraphReaders, IdsMayBeWordsIfTheFirstEdgeHasSome) {
  const Edges edges = read("a.csv", "source,target\nann,\"zoe, the elder\"\nzoe,ann\n");
  EXPECT_THAT(edges.names, ElementsAre("ann", "zoe, the elder", "zoe"));
  EXPECT_EQ(pairs(edges), (Pairs{{0, 1}, {2, 0}}));
  EXPECT_THAT(edges.notes, ElementsAre(EndsWith("its first line counts as names of columns, not "
                                                "as an edge")));
  // Two people, not names of columns.
  EXPECT_EQ(read("b.csv", "ann,bob\nbob,cid\n").size(), 2u);
  // Numbers are words among words.
  EXPECT_THAT(read("c.csv", "x1,7\n7,x2\n").names, ElementsAre("x1", "7", "x2"));
  EXPECT_THAT(error("d.el", "1 2\n3 x\n"),
              EndsWith("line 2: found 'x', expected a whole number, as the ids before it"));
}

TEST_F(GraphReaders, SeveralFilesAreOneGraph) {
  const auto path = [&](const char* name, const char* text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  };
  const auto a = path("a.el", "a b\n"), b = path("b.el", "c b\nb a\n"), c = path("c.el", "1 2\n");
  const Edges both = read_edges({a, b}, nullptr, 1);
  EXPECT_THAT(both.names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(pairs(both), (Pairs{{0, 1}, {2, 1}, {1, 0}}));
  EXPECT_THAT(input_error_of([&] {
                read_edges({a, c}, nullptr, 1);
              }),
              HasSubstr("the two differ in weights, in ids that are words"));
}

TEST_F(GraphReaders, LongListsAreReadByAllThreads) {
  std::string text;
  Pairs expected;
  for (std::int64_t i = 0; i < 900'000; ++i) {
    text += std::to_string(i) + " " + std::to_string(i * 7 % 1000) + "\n";
    expected.insert({i, i * 7 % 1000});
  }
  EXPECT_EQ(pairs(read("long.el", text, 3)), expected);
  text += "12 x\n";
  EXPECT_THAT(error("long.el", text), HasSubstr("line 900001: found 'x'"));
}

TEST_F(GraphReaders, MistakesAreSaidWithTheirLine) {
  EXPECT_THAT(error("a.el", "1 2\n3\n"),
              EndsWith("line 2: found nothing, expected a whole number, as the ids before it"));
  EXPECT_THAT(error("a.el", "1 2\n3 4 5\n"),
              EndsWith("line 2: found '5', expected the end of the line"));
  EXPECT_THAT(error("a.el", "1 2 3\n4 5\n"),
              EndsWith("line 2: found nothing, expected the weight of the edge"));
  EXPECT_THAT(error("a.el", "1 2 3 4\n"), HasSubstr("line 1: found 4 columns"));
  EXPECT_THAT(error("a.el", "# none\n"), EndsWith("has no edges"));
  EXPECT_THAT(error("a.el", "12345678901234567890 1\n1 2\n"),
              HasSubstr("line 1: found the id 123"));
  EXPECT_THAT(error("a.el", "%%MatrixMarket matrix\n"), HasSubstr("is a Matrix Market file"));

  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_THAT(error("a.mtx", "1 2\n"), HasSubstr("line 1: expected '%%MatrixMarket"));
  EXPECT_THAT(error("a.mtx", "%%MatrixMarket matrix array real general\n"), HasSubstr("dense"));
  EXPECT_THAT(error("a.mtx", "%%MatrixMarket matrix coordinate complex general\n"),
              HasSubstr("complex"));
  EXPECT_THAT(error("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n"),
              HasSubstr("skew-symmetric"));
  EXPECT_THAT(error("a.mtx", head + "2 3 1\n1 1\n"), HasSubstr("not square"));
  EXPECT_THAT(error("a.mtx", head + "2 2 1\n0 1\n"), HasSubstr("numbers from 1 to 2"));
  EXPECT_THAT(error("a.mtx", head + "2 2 1\n3 1\n"), HasSubstr("numbers from 1 to 2"));
  EXPECT_THAT(error("a.mtx", head + "2 2 2\n1 1\n"), HasSubstr("ends after 1 of 2 entries"));
  EXPECT_THAT(error("a.mtx", head + "9000000000000000000 9 9\n"), HasSubstr("expected"));

  EXPECT_THAT(error("a.graph", "2 1\n2\n"), HasSubstr("ends after 1 of 2 vertices"));
  EXPECT_THAT(error("a.graph", "2 1\n2\n3\n"), HasSubstr("found neighbour 3, expected 1 to 2"));
  EXPECT_THAT(error("a.graph", "2 2\n2\n1\n"), HasSubstr("expected 4: each of 2 edges twice"));
  EXPECT_THAT(error("a.adj", "2\n1\n2\n"), HasSubstr("found vertex 2, expected 0 to 1"));
}

TEST_F(GraphReaders, HostileGapFilesAreRefused) {
  const std::string good = gap_text(1, {0, 2, 2, 3}, {1, 2, 0});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(error("a.sg", good.substr(0, size)), HasSubstr("cut short")) << size;
  }
  EXPECT_THAT(error("a.sg", gap_text(1, {0, 2, 1, 3}, {1, 2, 0})), HasSubstr("falls"));
  EXPECT_THAT(error("a.sg", gap_text(1, {0, 2, 2, 3}, {1, 3, 0})), HasSubstr("edge to 3"));
  EXPECT_THAT(error("a.sg", gap_text(1, {0, 2, 2, 3}, {1, -1, 0})), HasSubstr("edge to -1"));
  EXPECT_THAT(error("a.sg", gap_text(1, {1, 2, 2, 3}, {1, 2, 0})), HasSubstr("offsets"));
  EXPECT_THAT(error("a.sg", gap_text(7, {0, 2, 2, 3}, {1, 2, 0})), HasSubstr("no graph"));
}

TEST_F(GraphReaders, FormatsAreFoundByNameOrAskedFor) {
  EXPECT_TRUE(is_graph_name("x/web.el.gz"));
  EXPECT_TRUE(is_graph_name("web.mtx"));
  EXPECT_FALSE(is_graph_name("web.csv"));
  const auto path = folder_.path() / "a.txt";
  std::ofstream(path) << "2\n1\n0\n";
  EXPECT_EQ(read_edges({path}, parse_graph_format("adjacency"), 1).size(), 2u);
  EXPECT_THAT(usage_error_of([] { parse_graph_format("dot"); }),
              HasSubstr("format 'dot' is unknown for graphs; known are auto, edges"));
}

TEST_F(GraphReaders, VertexValues) {
  const auto path = folder_.path() / "v.csv";
  std::ofstream(path) << "id,class\n# none\n3,a\n\"x, y\" b\n5\n";
  const auto values = read_vertex_values(path);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].id, "3");
  EXPECT_EQ(values[0].value, "a");
  EXPECT_EQ(values[1].id, "x, y");
  EXPECT_EQ(values[1].value, "b");
  EXPECT_EQ(values[2].value, "");
  EXPECT_EQ(values[2].line, 5);
  std::ofstream(path) << "1 2 3\n";
  EXPECT_THAT(input_error_of([&] { read_vertex_values(path); }), HasSubstr("line 1: found '3'"));
  std::ofstream(path) << "#\n";
  EXPECT_THAT(input_error_of([&] { read_vertex_values(path); }), EndsWith("names no vertex"));
}

}  // namespace
}  // namespace meanwhile::data
