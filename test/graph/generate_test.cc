// Generated graphs, and graphs written and read again.
#include "meanwhile/graph/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "meanwhile/data/files/graph/graph_file.h"
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/graph/describe.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/graph/write.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::graph {
namespace {

using testing::HasSubstr;

bool same_edges(const data::Edges& a, const data::Edges& b) {
  return std::equal(a.from.begin(), a.from.end(), b.from.begin(), b.from.end()) &&
         std::equal(a.to.begin(), a.to.end(), b.to.begin(), b.to.end());
}

TEST(Generate, DependsOnTheSeedAndNotOnThreads) {
  EXPECT_TRUE(same_edges(kronecker(10, 16, 3, 1), kronecker(10, 16, 3, 3)));
  EXPECT_FALSE(same_edges(kronecker(10, 16, 3, 1), kronecker(10, 16, 4, 1)));
  EXPECT_TRUE(same_edges(uniform_edges(1000, 70'000, 3, 1), uniform_edges(1000, 70'000, 3, 2)));
  EXPECT_THAT(usage_error_of([] { kronecker(31, 16, 0, 1); }), HasSubstr("must be 0 to 30"));
}

TEST(Generate, KroneckerGraphsHaveHubs) {
  const data::Edges edges = kronecker(12, 16, 1, 2);
  EXPECT_EQ(edges.size(), 16u << 12);
  const Built skewed = build(kronecker(12, 16, 1, 2), {});
  const Built even = build(uniform_edges(1 << 12, 16 << 12, 1, 2), {});
  const auto most = [](const Built& built) {
    const auto out = degrees(std::get<data::Sparse<float>>(built.data.x)).out;
    return *std::max_element(out.begin(), out.end());
  };
  EXPECT_GT(most(skewed), 8 * most(even));
}

TEST(Generate, DegreesAreThoseOfTheList) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "d.txt") << "1 40\n3 20\n\n30 1\n";
  const auto list = read_histogram(folder.path() / "d.txt");
  const data::Edges edges = of_degrees(list, 5);
  EXPECT_EQ(edges.vertices, 61);
  ASSERT_EQ(edges.size(), 65u);
  std::map<std::int64_t, int> degree, vertices;
  for (const auto* ends : {&edges.from, &edges.to}) {
    for (const std::int64_t v : *ends) ++degree[v];
  }
  for (const auto& [v, d] : degree) ++vertices[d];
  EXPECT_EQ(vertices, (std::map<std::int64_t, int>{{1, 40}, {3, 20}, {30, 1}}));
  std::ofstream(folder.path() / "d.txt") << "1 40\n3 x\n";
  EXPECT_THAT(input_error_of([&] { read_histogram(folder.path() / "d.txt"); }),
              HasSubstr("line 2: found 'x'"));
  std::ofstream(folder.path() / "d.txt") << "1000000000000 1000000000000\n";
  EXPECT_THAT(input_error_of([&] { read_histogram(folder.path() / "d.txt"); }),
              HasSubstr("more than 2^53 ends"));
}

// Every form gives the rows that were written.
TEST(WriteGraph, IsReadAgain) {
  const TemporaryFolder folder;
  for (const bool directed : {false, true}) {
    for (const bool weighted : {false, true}) {
      data::Edges edges = uniform_edges(50, 200, 7, 1);
      if (weighted) {
        edges.weights.resize(edges.size());
        for (std::size_t i = 0; i < edges.size(); ++i) {
          // An edge that is drawn both ways weighs the same both ways.
          edges.weights[i] = static_cast<double>(edges.from[i] + edges.to[i] + 2);
        }
      }
      BuildOptions options;
      options.directed = directed;
      // Both ways and twice one way would weigh differently: the sum of one is twice the other.
      if (weighted && !directed) {
        std::map<std::pair<std::int64_t, std::int64_t>, double> once;
        for (std::size_t i = 0; i < edges.size(); ++i) {
          once[std::minmax(edges.from[i], edges.to[i])] = edges.weights[i];
        }
        std::size_t i = 0;
        for (const auto& [ends, weight] : once) {
          edges.from[i] = ends.first;
          edges.to[i] = ends.second;
          edges.weights[i++] = weight;
        }
        edges.from.resize(i), edges.to.resize(i), edges.weights.resize(i);
      }
      const Built built = build(std::move(edges), options);
      const std::string hash = data::sha256(built.data, 1);
      for (const std::string name : {"g.el", "g.wel", "g.mtx", "g.sg", "g.wsg", "g.safetensors"}) {
        const auto path = folder.path() / name;
        if (weighted && (name == "g.el" || name == "g.sg")) {
          EXPECT_THAT(usage_error_of([&] { write(path, built.data); }),
                      HasSubstr("the graph has weights"));
          continue;
        }
        write(path, built.data);
        if (name == "g.safetensors") {
          EXPECT_EQ(data::sha256(data::read_graph_file(path), 1), hash);
          EXPECT_TRUE(data::holds_graph(path));
          continue;
        }
        data::Edges again = data::read_edges({path}, nullptr, 1);
        again.vertices = 50;
        EXPECT_EQ(again.first_id, name == "g.mtx" ? 1 : 0);
        again.first_id = 0;
        EXPECT_EQ(data::sha256(build(std::move(again), options).data, 1), hash)
            << name << " " << directed << weighted;
      }
    }
  }
}

TEST(WriteGraph, RefusesWhatAFormCannotHold) {
  const TemporaryFolder folder;
  data::Edges edges;
  edges.from.resize(1);
  edges.to.resize(1);
  edges.from[0] = 5, edges.to[0] = 9;
  const Built built = build(std::move(edges), {});
  EXPECT_THAT(usage_error_of([&] { write(folder.path() / "a.sg", built.data); }),
              HasSubstr("ids that are not 0 to 1, nor 1 to 2"));
  EXPECT_THAT(usage_error_of([&] { write(folder.path() / "a.dot", built.data); }),
              HasSubstr("ends in .el, .wel, .mtx, .sg, .wsg or .safetensors"));
  write(folder.path() / "a.el", built.data);
  std::ifstream file(folder.path() / "a.el");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "5 9");
  EXPECT_FALSE(data::holds_graph(folder.path() / "a.el"));
}

TEST(Describe, CountsWhatThereIs) {
  data::Edges edges;
  const std::int64_t ends[][2] = {{0, 1}, {0, 2}, {0, 3}, {4, 4}};
  edges.from.resize(4);
  edges.to.resize(4);
  edges.vertices = 6;
  for (std::size_t i = 0; i < 4; ++i) edges.from[i] = ends[i][0], edges.to[i] = ends[i][1];
  const Built built = build(std::move(edges), {});
  const base::Json json = describe(std::get<data::Sparse<float>>(built.data.x));
  EXPECT_EQ(json["vertices"], 6);
  EXPECT_EQ(json["edges"], 4);
  EXPECT_EQ(json["loops"], 1);
  EXPECT_EQ(json["largest_degree"], 3);
  EXPECT_EQ(json["vertices_without_edges"], 1);
  EXPECT_EQ(json["degrees"].dump(), "[[0,1],[1,4],[3,1]]");
  EXPECT_EQ(json["cuts"].size(), 6u);
}

}  // namespace
}  // namespace meanwhile::graph
