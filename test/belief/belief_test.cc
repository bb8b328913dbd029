// Marginals and log Z against enumeration on trees, against plain serial belief propagation on
// loopy graphs, and against libDAI's fixed point.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "meanwhile/data/files/factors/reader.h"
#include "test/belief/run_belief.h"
#include "test/belief/serial.h"
#include "test/expect_error.h"

namespace meanwhile::learn::belief {
namespace {

Parameters strict(Schedule schedule = Schedule::kAuto) {
  Parameters p;
  p.schedule = schedule;
  p.tol = 1e-11;
  return p;
}

struct Ran {
  std::vector<double> marginals;
  AttemptResult result;
  std::string sha256;
};

Ran run(const data::FactorGraph& graph, const Parameters& parameters, int shards = 3) {
  Belief learner(parameters);
  const auto result = test::train_belief(learner, test::factor_part(graph, shards));
  const auto marginals = learner.marginals();
  return {{marginals.begin(), marginals.end()}, learner.progress().best(), result.model_sha256};
}

void expect_marginals(const test::Answer& right, const std::vector<double>& found, double error) {
  std::size_t at = 0;
  for (std::size_t v = 0; v < right.marginals.size(); ++v) {
    for (const double p : right.marginals[v]) EXPECT_NEAR(found[at++], p, error) << v;
  }
  EXPECT_EQ(at, found.size());
}

constexpr Schedule kEvery[] = {Schedule::kAuto, Schedule::kFlood, Schedule::kSweep,
                               Schedule::kResidual};

TEST(Belief, IsExactOnTrees) {
  test::RandomGraphs random(1);
  for (int i = 0; i < 12; ++i) {
    // Binary pairs, mixed tables, and mixed tables with hard zeros.
    const auto graph = i % 3 == 0   ? random.tree(14, 2, 2, 1.5)
                       : i % 3 == 1 ? random.tree(9, 3, 4, 1.5)
                                    : random.tree(9, 3, 4, 1.5, 0.4);
    const test::Answer right = test::enumerate(graph);
    for (const Schedule schedule : kEvery) {
      const Ran found = run(graph, strict(schedule));
      EXPECT_TRUE(found.result.converged);
      expect_marginals(right, found.marginals, 1e-9);
      EXPECT_NEAR(found.result.log_z, right.log_z, 1e-9 * std::max(1.0, std::abs(right.log_z)));
    }
  }
}

TEST(Belief, SweepsATreeOnceThereAndBack) {
  test::RandomGraphs random(2);
  const auto graph = random.tree(18, 2, 3, 1);
  EXPECT_LE(run(graph, strict(Schedule::kSweep)).result.sweeps, 2);
  EXPECT_LE(run(graph, strict()).result.sweeps, 2);
}

TEST(Belief, DecodesTheBestStateOfATree) {
  test::RandomGraphs random(3);
  for (int i = 0; i < 8; ++i) {
    const auto graph = random.tree(9, 3, 3, 2, i % 2 == 0 ? 0 : 0.3);
    const test::Answer right = test::enumerate(graph);
    Parameters p = strict();
    p.map = true;
    const Ran found = run(graph, p);
    EXPECT_TRUE(found.result.converged);
    EXPECT_NEAR(found.result.log_z, right.log_best, 1e-9);
    std::size_t at = 0;
    for (std::size_t v = 0; v < right.best.size(); ++v) {
      const auto first = found.marginals.begin() + static_cast<std::ptrdiff_t>(at);
      const auto card = graph.cards[v];
      EXPECT_EQ(std::max_element(first, first + card) - first, right.best[v]);
      at += static_cast<std::size_t>(card);
    }
  }
}

TEST(Belief, ReachesTheFixedPointOfSerialBeliefPropagation) {
  test::RandomGraphs random(4);
  for (int i = 0; i < 6; ++i) {
    auto graph = random.grid(3, i % 2 == 0 ? 2 : 3, 0.7);
    if (i >= 2) random.add(graph, {0, 4, 8}, 0.7, i >= 4 ? 0.3 : 0);
    const test::Answer right = test::serial_belief(graph);
    for (const Schedule schedule : kEvery) {
      const Ran found = run(graph, strict(schedule));
      EXPECT_TRUE(found.result.converged);
      expect_marginals(right, found.marginals, 1e-9);
    }
    Parameters p = strict(Schedule::kSweep);
    p.damping = 0.4;
    expect_marginals(right, run(graph, p).marginals, 1e-9);
    p.exact_messages = false;
    expect_marginals(right, run(graph, p).marginals, 1e-9);
  }
}

// Errors of loopy graphs against the truth are reported, not asserted.
TEST(Belief, ReachesLibdaisFixedPoint) {
  const std::filesystem::path folder = std::filesystem::path(MEANWHILE_TEST_DATA) / "libdai";
  const auto graph = data::read_factor_graph(folder / "testfast.fg");
  const Ran found = run(graph, strict());
  std::ifstream file(folder / "reference.txt");
  double most = 0;
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::size_t variable = 0;
    double exact = 0, fixed_point = 0;
    words >> variable >> exact >> fixed_point;
    EXPECT_NEAR(found.marginals[2 * variable], fixed_point, 1e-9);
    most = std::max(most, std::abs(found.marginals[2 * variable] - exact));
    ++lines;
  }
  EXPECT_EQ(lines, 16);
  EXPECT_NEAR(found.result.log_z - 14.328233281092, 7.187e-4, 1e-6);
  RecordProperty("largest_error_against_exact", std::to_string(most));
}

TEST(Belief, DependsNeitherOnShardsNorOnThreads) {
  test::RandomGraphs random(5);
  std::vector<data::FactorGraph> graphs = {random.grid(6, 2, 1), random.grid(4, 3, 1),
                                           random.tree(40, 3, 4, 1, 0.3)};
  for (const auto& graph : graphs) {
    for (const Schedule schedule : kEvery) {
      const Ran one = run(graph, strict(schedule), 1);
      for (const int shards : {3, 8, 32}) {
        const Ran other = run(graph, strict(schedule), shards);
        EXPECT_EQ(one.sha256, other.sha256) << shards;
        EXPECT_EQ(one.result.log_z, other.result.log_z);
        EXPECT_EQ(one.result.sweeps, other.result.sweeps);
      }
      Belief learner(strict(schedule));
      const auto two = test::train_belief(learner, test::factor_part(graph, 8), 2);
      EXPECT_EQ(one.sha256, two.model_sha256);
    }
  }
}

TEST(Belief, SaysThatItDidNotConverge) {
  test::RandomGraphs random(6);
  const auto graph = random.grid(5, 2, 8);  // strong couplings of both signs
  Parameters p;
  p.schedule = Schedule::kFlood;
  p.max_iter = 30;
  Belief learner(p);
  const auto result = test::train_belief(learner, test::factor_part(graph, 2));
  EXPECT_EQ(result.ending, Ending::kRanOut);
  EXPECT_FALSE(learner.progress().best().converged);
  EXPECT_EQ(result.record.at("converged"), false);
  EXPECT_GT(result.record.at("residual").get<double>(), p.tol);
  ASSERT_EQ(result.record.at("worst").size(), 5U);
  EXPECT_EQ(result.record.at("worst")[0].at("residual"), result.record.at("residual"));
}

// A run that says it converged is at a fixed point: with a tolerance that is 10^5 times smaller the
// same rounds go on, and end at the same marginals.
TEST(Belief, NeverConvergesFalsely) {
  test::RandomGraphs random(7);
  int converged = 0;
  for (int i = 0; i < 120; ++i) {
    auto graph = random.grid(3, 2 + i % 2, 0.5 + 0.1 * (i % 40));
    if (i % 3 == 0) random.add(graph, {0, 4, 8}, 1, 0.5);
    constexpr Schedule kOne[] = {Schedule::kFlood, Schedule::kSweep, Schedule::kResidual};
    Parameters p;
    p.schedule = kOne[(i / 2) % 3];
    p.damping = i % 5 == 0 ? 0.5 : 0;
    p.max_iter = 500;
    const Ran found = run(graph, p);
    if (!found.result.converged) continue;
    ++converged;
    EXPECT_LE(found.result.residual, p.tol);
    p.tol = 1e-11;
    p.max_iter = 20'000;
    const Ran longer = run(graph, p);
    EXPECT_TRUE(longer.result.converged) << i;
    for (std::size_t k = 0; k < found.marginals.size(); ++k) {
      EXPECT_NEAR(found.marginals[k], longer.marginals[k], 1e-3) << i;
    }
  }
  EXPECT_GT(converged, 60);
}

TEST(Belief, GivesPointMassesForEvidence) {
  test::RandomGraphs random(8);
  const auto graph = random.tree(8, 3, 3, 1);
  std::vector<data::Observation> observed;
  for (const std::int32_t v : {2, 5})
    observed.push_back({v, graph.cards[static_cast<std::size_t>(v)] - 1});
  const auto given = data::with_evidence(graph, observed);
  const test::Answer right = test::enumerate(given);
  const Ran found = run(given, strict());
  expect_marginals(right, found.marginals, 1e-9);
  EXPECT_NEAR(found.result.log_z, right.log_z, 1e-9);
}

TEST(Belief, NamesTheVariableOfAContradiction) {
  data::FactorGraph graph;
  graph.cards = {2, 2, 2};
  const auto equal = [&](std::int32_t a, std::int32_t b) {
    graph.add(std::vector{a, b}, std::vector{0, 3}, std::vector{1.0, 1.0});
  };
  equal(0, 1);
  equal(1, 2);
  graph.add(std::vector{0}, std::vector{0}, std::vector{1.0});
  graph.add(std::vector{2}, std::vector{1}, std::vector{1.0});
  for (const Schedule schedule : kEvery) {
    const std::string message = input_error_of([&] { run(graph, strict(schedule)); });
    EXPECT_NE(message.find("no state of variable "), std::string::npos) << message;
    EXPECT_NE(message.find("log Z is -inf"), std::string::npos) << message;
  }
}

TEST(Belief, TakesGraphsWithoutMessages) {
  data::FactorGraph graph;
  graph.cards = {3, 1, 2};
  graph.add(std::vector{0}, std::vector{0, 2}, std::vector{1.0, 3.0});
  graph.add(std::vector<std::int32_t>{}, std::vector{0}, std::vector{2.0});
  for (const Schedule schedule : kEvery) {
    const Ran found = run(graph, strict(schedule), 5);
    EXPECT_TRUE(found.result.converged);
    EXPECT_EQ(found.marginals, (std::vector{0.25, 0.0, 0.75, 1.0, 0.5, 0.5}));
    EXPECT_NEAR(found.result.log_z, std::log(2.0 * 4 * 2), 1e-10);
  }
}

TEST(Belief, TakesGraphsWithoutVariables) {
  data::FactorGraph graph;
  graph.add(std::vector<std::int32_t>{}, std::vector{0}, std::vector{2.0});
  const Ran found = run(graph, strict(), 2);
  EXPECT_TRUE(found.result.converged);
  EXPECT_TRUE(found.marginals.empty());
  EXPECT_NEAR(found.result.log_z, std::log(2.0), 1e-10);
}

TEST(Belief, RefusesWhatIsNoFactorGraph) {
  data::Part part = test::factor_part(test::RandomGraphs(9).tree(5, 2, 2, 1), 2);
  auto& rows = std::get<data::Sparse<double>>(part.data.x);
  const auto attach = [&] {
    Belief learner(Parameters{});
    base::ThreadPool pool(1);
    learner.attach({&part, nullptr, 0, false, &pool});
  };
  attach();
  auto columns = std::vector<std::int32_t>(rows.columns, rows.columns + part.stored);
  auto values = std::vector<double>(rows.values, rows.values + part.stored);
  rows.columns = columns.data();
  rows.values = values.data();
  values[0] = 2.5;
  EXPECT_NE(input_error_of(attach).find("row 0 is no factor"), std::string::npos);
  values[0] = -1;
  EXPECT_NE(input_error_of(attach).find("not positive"), std::string::npos);
  values[0] = 2;
  columns[1] = 0;
  EXPECT_NE(input_error_of(attach).find("do not ascend"), std::string::npos);
  rows.cols = 7;
  EXPECT_NE(input_error_of(attach).find("no factor graph"), std::string::npos);
}

}  // namespace
}  // namespace meanwhile::learn::belief
