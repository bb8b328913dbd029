// Readers of factor graphs: what they make of files, and what they say of wrong ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "meanwhile/data/files/factors/factor_rows.h"
#include "meanwhile/data/files/factors/reader.h"
#include "test/belief/serial.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using testing::HasSubstr;

class FactorFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  FactorGraph uai(const std::string& text) { return read_factor_graph(write("m.uai", text)); }
  FactorGraph fg(const std::string& text) { return read_factor_graph(write("m.fg", text)); }
  std::vector<Observation> evidence(const std::string& text, const FactorGraph& graph) {
    return read_evidence(write("m.evid", text), graph);
  }
  void expect_bad(const std::string& name, const std::string& text, const std::string& message) {
    const std::string found = input_error_of([&] { read_factor_graph(write(name, text)); });
    EXPECT_NE(found.find(message), std::string::npos) << found;
    EXPECT_NE(found.find(name), std::string::npos) << found;
  }

 private:
  TemporaryFolder folder_;
};

using States = std::vector<std::int32_t>;

TEST_F(FactorFiles, ReadsUaiWithItsLastVariableFastest) {
  const FactorGraph graph = uai("MARKOV\n3\n2 3 2\n2\n2 0 1\n1 2\n6\n1 2 3 4 5 6\n2 .5 0\n");
  EXPECT_EQ(graph.cards, (States{2, 3, 2}));
  EXPECT_EQ(test::entry(graph, 0, {0, 1, 0}), 2);
  EXPECT_EQ(test::entry(graph, 0, {1, 0, 0}), 4);
  EXPECT_EQ(graph.entries(1).values.size(), 1U);  // a zero is not stored
}

TEST_F(FactorFiles, BringsScopesInOrder) {
  // f(2, 0) of 2 x 3 states: the entry of (x2, x0) is 10 x2 + x0 + 1.
  const FactorGraph graph =
      uai("BAYES 3 3 2 2 2 2 2 0 3 1 2 0 6 1 2 3 11 12 13 12 0 1 2 3 4 5 6 7 8 9 10 11");
  EXPECT_EQ(States(graph.scope(0).begin(), graph.scope(0).end()), (States{0, 2}));
  EXPECT_EQ(States(graph.scope(1).begin(), graph.scope(1).end()), (States{0, 1, 2}));
  for (std::int32_t x0 = 0; x0 < 3; ++x0) {
    for (std::int32_t x2 = 0; x2 < 2; ++x2) {
      EXPECT_EQ(test::entry(graph, 0, {x0, 0, x2}), 10 * x2 + x0 + 1);
      for (std::int32_t x1 = 0; x1 < 2; ++x1) {
        EXPECT_EQ(test::entry(graph, 1, {x0, x1, x2}), x1 * 6 + x2 * 3 + x0);
      }
    }
  }
}

TEST_F(FactorFiles, ReadsLibdaiWithItsFirstVariableFastest) {
  const FactorGraph graph = fg(
      "# two factors\n2\n\n2\n3 1 # variables\n2 3\n3\n0 1.5\n5 2\n1 7\n\n1\n0\n2\n2\n0 1\n1 3\n");
  EXPECT_EQ(graph.cards, (States{2, 3, 1, 2}));  // variable 2 is in no factor
  EXPECT_EQ(test::entry(graph, 0, {0, 0, 0, 0}), 1.5);
  EXPECT_EQ(test::entry(graph, 0, {0, 0, 0, 1}), 7);
  EXPECT_EQ(test::entry(graph, 0, {0, 2, 0, 1}), 2);
  EXPECT_EQ(test::entry(graph, 0, {0, 2, 0, 0}), 0);
}

TEST_F(FactorFiles, TellsTheTwoFormsOfEvidenceApart) {
  const FactorGraph graph = uai("MARKOV 3 2 3 2 1 1 0 2 1 1");
  for (const char* text : {"2 0 1 1 2", "1\n2 0 1 1 2\n", "1 2 1 2 0 1", "2 1 2 0 1"}) {
    const auto found = evidence(text, graph);
    ASSERT_EQ(found.size(), 2U) << text;
    EXPECT_EQ(found[0].variable, 0);
    EXPECT_EQ(found[0].state, 1);
    EXPECT_EQ(found[1].variable, 1);
    EXPECT_EQ(found[1].state, 2);
  }
  for (const char* text : {"", "0", "1 0", "\n"}) EXPECT_TRUE(evidence(text, graph).empty());
  const auto bad = [&](const char* text, const char* message) {
    const std::string found = input_error_of([&] { evidence(text, graph); });
    EXPECT_NE(found.find(message), std::string::npos) << found;
  };
  bad("1 3 0", "there is no variable 3");
  bad("1 1 3", "variable 1 has no state 3");
  bad("2 0 1", "found 3 numbers, expected 5");
  bad("2 1 0 1", "2 sets of evidence");
  bad("2 0 1 0 0", "observed in states 0 and 1");
  bad("1 0 x", "found 'x'");
  bad("1 0 -1", "found '-1'");
}

TEST_F(FactorFiles, SlicesTablesAtTheEvidence) {
  test::RandomGraphs random(1);
  FactorGraph graph = random.tree(6, 3, 4, 1);
  const std::vector<Observation> observed = {{1, graph.cards[1] - 1}, {4, 0}};
  const FactorGraph given = with_evidence(graph, observed);
  for (std::int64_t f = 0; f < given.factors(); ++f) {
    for (const std::int32_t v : given.scope(f)) {
      if (v == 1 || v == 4) {
        EXPECT_EQ(given.scope(f).size(), 1U);
      }
    }
  }
  // Brute force with the evidence as further factors.
  FactorGraph other = graph;
  other.add(States{1}, States{graph.cards[1] - 1}, std::vector{1.0});
  other.add(States{4}, States{0}, std::vector{1.0});
  const auto one = test::enumerate(given), two = test::enumerate(other);
  EXPECT_NEAR(one.log_z, two.log_z, 1e-12);
  for (std::size_t v = 0; v < one.marginals.size(); ++v) {
    for (std::size_t k = 0; k < one.marginals[v].size(); ++k) {
      EXPECT_NEAR(one.marginals[v][k], two.marginals[v][k], 1e-12);
    }
  }
}

TEST_F(FactorFiles, SaysThatEvidenceContradictsATable) {
  const FactorGraph graph = uai("MARKOV 2 2 2 2 1 0 2 0 1 2 1 1 4 1 1 0 0");
  const std::vector<Observation> observed = {{0, 1}};
  EXPECT_NE(input_error_of([&] { with_evidence(graph, observed); }).find("factor 1: the evidence"),
            std::string::npos);
  const FactorGraph zeros = uai("MARKOV 1 2 1 1 0 2 0 0");
  EXPECT_NE(input_error_of([&] { with_evidence(zeros, {}); }).find("are zero"), std::string::npos);
}

TEST_F(FactorFiles, SaysWhatIsWrongAndWhere) {
  expect_bad("a.uai", "MARKOF\n", "line 1: found 'MARKOF', expected MARKOV or BAYES");
  expect_bad("a.uai", "", "found nothing");
  expect_bad("a.uai", "MARKOV\n2\n2\n", "the file ends; expected the number of states");
  expect_bad("a.uai", "MARKOV\n2\n2 0\n", "line 3: found '0'");
  expect_bad("a.uai", "MARKOV\n2\n2 2\n1\n2 1 1\n4 1 1 1 1",
             "line 5: factor 0 has a variable twice");
  expect_bad("a.uai", "MARKOV\n2\n2 2\n1\n2 0 2\n", "line 5: found '2', expected a variable");
  expect_bad("a.uai", "MARKOV\n2\n2 2\n1\n2 0 1\n3 1 1 1", "has 3 entries, expected 4");
  expect_bad("a.uai", "MARKOV\n1\n2\n1\n1 0\n2 1 -1", "not negative");
  expect_bad("a.uai", "MARKOV\n1\n2\n1\n1 0\n2 1 nan", "found 'nan'");
  expect_bad("a.uai", "MARKOV\n1\n2\n1\n1 0\n2 1 inf", "found 'inf'");
  expect_bad("a.uai", "MARKOV\n1\n2\n1\n1 0\n2 1 1e999", "found '1e999'");
  expect_bad("a.uai", "MARKOV\n1\n2\n1\n1 0\n2 1", "the file ends");
  expect_bad("a.uai", "MARKOV\n1\n2\n1\n1 0\n2 1 1 7", "found '7' after the last table");
  expect_bad("a.uai", "MARKOV\n99999999999999999999\n", "found '99999999999999999999'");
  expect_bad("b.fg", "1\n\n2\n0 0\n2 2\n0\n", "variable twice");
  expect_bad("b.fg", "1\n\n1\n0\n2\n2\n0 1\n0 2\n", "an entry twice");
  expect_bad("b.fg", "1\n\n1\n0\n2\n3\n", "found '3', expected the number of entries");
  expect_bad("b.fg", "2\n1\n0\n2\n1\n0 1\n1\n0\n3\n1\n0 1\n", "variable 0 has 3 states, and 2");
  expect_bad("b.fg", "1\n\n1\n0\n2\n1\n2 1\n", "found '2', expected the place");
}

TEST_F(FactorFiles, RefusesLargeTablesBeforeReadingThem) {
  std::string text = "MARKOV\n30\n";
  for (int i = 0; i < 30; ++i) text += "2 ";
  text += "\n1\n30";
  for (int i = 0; i < 30; ++i) text += " " + std::to_string(i);
  expect_bad("large.uai", text, "more than 16777216 entries");
  expect_bad("large.fg", "1\n1\n400000000\n2\n1\n0 1\n", "found '400000000', expected a variable");
  expect_bad("large.fg", "1\n2\n0 1\n9000 9000\n1\n0 1\n", "more than 16777216 entries");
}

TEST_F(FactorFiles, MakeRowsThatSayTheSame) {
  test::RandomGraphs random(2);
  const FactorGraph graph = with_evidence(random.tree(7, 3, 4, 1, 0.3), {});
  const Dataset data = factor_rows(graph);
  const auto& rows = std::get<Sparse<double>>(data.x);
  EXPECT_EQ(variables_of(rows), 7);
  ASSERT_EQ(rows.rows, graph.factors());
  const auto order = sweep_order(graph, Consistency::kEdge);
  for (std::int64_t f = 0; f < rows.rows; ++f) {
    check_row(rows, f, 7);
    const FactorRow row = factor_row(rows, f, 7);
    const auto scope = graph.scope(f);
    EXPECT_TRUE(std::equal(scope.begin(), scope.end(), row.variables.begin(), row.variables.end()));
    for (std::size_t i = 0; i < scope.size(); ++i) {
      const auto v = static_cast<std::size_t>(scope[i]);
      EXPECT_EQ(row.card(i), graph.cards[v]);
      EXPECT_EQ(row.order[i], order[v] + 1);
    }
    EXPECT_EQ(row.table_size, graph.table_size(f));
    EXPECT_EQ(row.values.size(), graph.entries(f).values.size());
  }
}

TEST_F(FactorFiles, OrderGreedyColoursAndDistancesInTrees) {
  test::RandomGraphs random(3);
  const FactorGraph grid = random.grid(5, 2, 1);
  const auto colours = sweep_order(grid, Consistency::kEdge);
  for (std::int64_t f = 0; f < grid.factors(); ++f) {
    const auto scope = grid.scope(f);
    if (scope.size() == 2) {
      EXPECT_NE(colours[static_cast<std::size_t>(scope[0])],
                colours[static_cast<std::size_t>(scope[1])]);
    }
  }
  EXPECT_EQ(*std::max_element(colours.begin(), colours.end()), 1);
  // A chain of seven: distances from its middle.
  FactorGraph chain;
  chain.cards.assign(7, 2);
  for (std::int32_t v = 0; v < 6; ++v) random.add(chain, {v, v + 1}, 1);
  EXPECT_EQ(sweep_order(chain, Consistency::kEdge), (States{3, 2, 1, 0, 1, 2, 3}));
}

TEST_F(FactorFiles, FullConsistencyKeepsNeighboursOfAVariableApart) {
  test::RandomGraphs random(4);
  const FactorGraph grid = random.grid(6, 2, 1);
  const auto colours = sweep_order(grid, Consistency::kFull);
  std::vector<std::vector<std::int32_t>> near(36);
  for (std::int64_t f = 0; f < grid.factors(); ++f) {
    const auto scope = grid.scope(f);
    if (scope.size() < 2) continue;
    near[static_cast<std::size_t>(scope[0])].push_back(scope[1]);
    near[static_cast<std::size_t>(scope[1])].push_back(scope[0]);
  }
  for (std::size_t v = 0; v < near.size(); ++v) {
    std::set<std::int32_t> found = {colours[v]};
    for (const std::int32_t u : near[v]) found.insert(colours[static_cast<std::size_t>(u)]);
    EXPECT_EQ(found.size(), near[v].size() + 1) << "variable " << v;
  }
  // A star of many: its leaves would all differ.
  FactorGraph star;
  star.cards.assign(200'000, 2);
  for (std::int32_t v = 1; v < 200'000; ++v) random.add(star, {0, v}, 1);
  EXPECT_THAT(usage_error_of([&] { sweep_order(star, Consistency::kFull); }),
              HasSubstr("variable 0 has 199999; use edge"));
}

}  // namespace
}  // namespace meanwhile::data
