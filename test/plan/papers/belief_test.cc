// The numbers of "Modeling Scalability of Distributed Machine Learning" on belief propagation. The
// degrees of its graphs have no licence and are not here: see data/degrees/README.md.
#include "test/plan/papers/belief.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "test/expect_error.h"
#include "test/plan/papers/compare.h"

namespace meanwhile::plan::papers {
namespace {

using testing::HasSubstr;

const std::vector<int> kWorkers = {1, 2, 4, 8, 16, 32};

struct Graph {
  const char* name;
  std::int64_t vertices, edges, max_degree;
  std::vector<double> measured, model;  // speedups on kWorkers
  double mape, near;
  std::vector<double> replicas;  // of 2, 4, 8, 16, 32; empty: not known
};

std::ostream& operator<<(std::ostream& out, const Graph& graph) { return out << graph.name; }

const std::vector<Graph> kGraphs = {
    {"10M",
     16259408,
     99854596,
     309368,
     {1, 1.835121816, 3.422534304, 6.311737684, 9.595376419, 10.98896856},
     {1, 1.3333, 2.2813, 4.2395, 8.1652, 15.8022},
     25.3706,
     5e-5,
     {1.595, 2.391, 3.377, 4.437, 5.444}},
    {"100K",
     165480,
     726562,
     58241,
     {1, 1.721916732, 3.031811895, 4.871111111, 6.871473354, 6.582582583},
     {1, 1.3333, 2.1218, 3.5014, 5.4627, 7.6495},
     19.5687,
     5e-5,
     {}},
    {"1K",
     1680,
     5206,
     656,
     {1, 1.4, 2.3333, 3.5, 3.5, 3.5},
     {1, 1.3331, 2.0382, 3.1880, 4.5355, 5.8428},
     20.48,
     5e-3,
     {}},
};

// Vertices one by one.
double dealt_one_by_one(const Degrees& degrees, int n) {
  std::vector<double> sums(static_cast<std::size_t>(n), 0);
  std::size_t vertex = 0;
  for (const Degrees::Entry& entry : degrees.entries) {
    for (std::int64_t i = 0; i < entry.vertices; ++i) {
      sums[vertex++ % sums.size()] += static_cast<double>(entry.degree);
    }
  }
  const auto V = static_cast<double>(degrees.vertices()), E = static_cast<double>(degrees.edges());
  const double twice = 0.5 * (V / n - 1) * (V / n) * E / (V * (V - 1) / 2);
  return *std::max_element(sums.begin(), sums.end()) - twice;
}

TEST(Belief, PublishedModelMissesTheMeasuredByThePublishedError) {
  for (const Graph& graph : kGraphs) {
    EXPECT_NEAR(mape(graph.measured, graph.model), graph.mape, 0.01) << graph.name;
  }
}

TEST(Belief, CountsOfAHistogram) {
  const Degrees degrees = parse_degrees("1 4\n2 3\n10\t1\r\n", "d");
  EXPECT_EQ(degrees.vertices(), 8);
  EXPECT_EQ(degrees.edges(), 10);
  EXPECT_EQ(degrees.max_degree(), 10);
  EXPECT_EQ(edges_of_largest(degrees, 1), 10);
  EXPECT_EQ(belief_speedup(degrees, 1), 1);
}

TEST(Belief, DealIsThatOfVerticesOneByOne) {
  const Degrees degrees = parse_degrees("0 5\n1 1001\n2 333\n3 70\n9 14\n50 3\n777 1\n", "d");
  for (const int n : {2, 3, 4, 5, 7, 8, 16, 31, 32, 100}) {
    EXPECT_NEAR(edges_of_largest(degrees, n), dealt_one_by_one(degrees, n), 1e-9) << n;
  }
}

TEST(Belief, EvenDegreesGiveNSquaredOver2NMinus1) {
  // Why two workers are always predicted 4/3 times as fast as one.
  const Degrees degrees = parse_degrees("6 3200000\n", "d");
  for (const int n : {2, 4, 8, 16, 32}) {
    EXPECT_NEAR(belief_speedup(degrees, n), n * n / (2.0 * n - 1), 1e-4) << n;
  }
}

TEST(Belief, ReplicasAreBetweenOneAndDegreeOrWorkers) {
  EXPECT_NEAR(replicas(parse_degrees("1 10\n", "d"), 8), 1, 1e-12);
  EXPECT_NEAR(replicas(parse_degrees("2 10\n", "d"), 2), 1.5, 1e-12);
  EXPECT_NEAR(replicas(parse_degrees("100000 10\n", "d"), 8), 8, 1e-9);
}

TEST(Belief, BrokenFilesAreRefusedWithLineAndReason) {
  const auto refused = [](const char* text) {
    return input_error_of([&] { parse_degrees(text, "g.degree_dist"); });
  };
  EXPECT_THAT(refused("1 4\n2\n"), HasSubstr("g.degree_dist:2: expected two numbers"));
  EXPECT_THAT(refused("1 4 4\n"), HasSubstr(":1: expected two numbers"));
  EXPECT_THAT(refused("1 4\n\n2 x\n"), HasSubstr(":3: found 'x', expected how many"));
  EXPECT_THAT(refused("1.5 4\n"), HasSubstr("found '1.5', expected a degree"));
  EXPECT_THAT(refused("-1 4\n"), HasSubstr("found '-1'"));
  EXPECT_THAT(refused("2 4\n2 4\n"), HasSubstr(":2: degree 2 after 2: expected degrees to rise"));
  EXPECT_THAT(refused("1 99999999999999999999\n"), HasSubstr("2^53"));
  EXPECT_THAT(refused("9007199254740992 9007199254740992\n"), HasSubstr(":1: more than 2^53"));
  EXPECT_THAT(refused("1 3\n"), HasSubstr("sum to 3, expected an even number"));
  EXPECT_THAT(refused(""), HasSubstr("no vertices"));
  EXPECT_THAT(refused("4 0\n"), HasSubstr("no vertices"));
  EXPECT_THAT(input_error_of([] { read_degrees("/nowhere/g.degree_dist"); }),
              HasSubstr("/nowhere/g.degree_dist"));
}

// One test for each graph whose degrees are in the folder $MEANWHILE_DEGREES.
std::filesystem::path file_of(const Graph& graph) {
  const char* folder = std::getenv("MEANWHILE_DEGREES");
  return std::filesystem::path(folder == nullptr ? "" : folder) /
         fmt::format("synthetic_{}.degree_dist", graph.name);
}

std::vector<Graph> graphs_at_hand() {
  std::vector<Graph> found;
  std::copy_if(kGraphs.begin(), kGraphs.end(), std::back_inserter(found), [](const Graph& graph) {
    return std::getenv("MEANWHILE_DEGREES") != nullptr && std::filesystem::exists(file_of(graph));
  });
  return found;
}

class BeliefOfPublishedGraph : public testing::TestWithParam<Graph> {};

TEST_P(BeliefOfPublishedGraph, SpeedupsErrorAndReplicas) {
  const Graph& graph = GetParam();
  const Degrees degrees = read_degrees(file_of(graph));
  EXPECT_EQ(degrees.vertices(), graph.vertices);
  EXPECT_EQ(degrees.edges(), graph.edges);
  EXPECT_EQ(degrees.max_degree(), graph.max_degree);
  std::vector<double> model;
  for (std::size_t i = 0; i < kWorkers.size(); ++i) {
    model.push_back(belief_speedup(degrees, kWorkers[i]));
    EXPECT_NEAR(model[i], graph.model[i], 5.1e-5) << kWorkers[i];
  }
  EXPECT_NEAR(mape(graph.measured, model), graph.mape, graph.near);
  for (std::size_t i = 0; i < graph.replicas.size(); ++i) {
    EXPECT_NEAR(replicas(degrees, kWorkers[i + 1]), graph.replicas[i], 5.1e-4) << kWorkers[i + 1];
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BeliefOfPublishedGraph);
INSTANTIATE_TEST_SUITE_P(Degrees, BeliefOfPublishedGraph, testing::ValuesIn(graphs_at_hand()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace meanwhile::plan::papers
