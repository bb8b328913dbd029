// Large random trees against a recursion of two passes, which is exact.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "test/belief/run_belief.h"

namespace meanwhile::learn::belief {
namespace {

// The parent of variable v is below v. A factor for each variable, and one for each edge.
struct Tree {
  std::size_t card = 2;
  std::vector<std::size_t> parent;
  std::vector<double> field, pair;  // of v: card, and card x card, the parent first
};

Tree random_tree(std::size_t variables, std::size_t card) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> draw(-1.5, 1.5);
  Tree tree{card, {}, {}, {}};
  for (std::size_t v = 0; v < variables; ++v) tree.parent.push_back(v == 0 ? 0 : random() % v);
  tree.field.resize(variables * card);
  tree.pair.resize(variables * card * card);
  for (double& x : tree.field) x = std::exp(draw(random));
  for (double& x : tree.pair) x = std::exp(draw(random));
  return tree;
}

data::FactorGraph graph_of(const Tree& tree) {
  data::FactorGraph graph;
  const std::size_t K = tree.card;
  graph.cards.assign(tree.parent.size(), static_cast<std::int32_t>(K));
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i < K * K; ++i) places.push_back(static_cast<std::int32_t>(i));
  for (std::size_t v = 0; v < tree.parent.size(); ++v) {
    const auto variable = static_cast<std::int32_t>(v);
    graph.add(std::vector{variable}, std::span(places).first(K),
              std::span(tree.field).subspan(v * K, K));
    if (v == 0) continue;
    graph.add(std::vector{static_cast<std::int32_t>(tree.parent[v]), variable}, places,
              std::span(tree.pair).subspan(v * K * K, K * K));
  }
  return graph;
}

struct Exact {
  std::vector<double> marginals;
  double log_z = 0;
};

// below[v]: the weight of the subtree of v for each of its states; above[v]: of all else.
Exact two_passes(const Tree& tree) {
  const std::size_t n = tree.parent.size(), K = tree.card;
  Exact exact;
  std::vector<double> below = tree.field, up(n * K), above(n * K, 1.0);
  const auto scale = [&](double* values) {
    double sum = 0;
    for (std::size_t k = 0; k < K; ++k) sum += values[k];
    for (std::size_t k = 0; k < K; ++k) values[k] /= sum;
    return std::log(sum);
  };
  for (std::size_t v = n - 1; v > 0; --v) {
    for (std::size_t p = 0; p < K; ++p) {
      up[v * K + p] = 0;
      for (std::size_t k = 0; k < K; ++k) {
        up[v * K + p] += tree.pair[(v * K + p) * K + k] * below[v * K + k];
      }
    }
    exact.log_z += scale(&up[v * K]);
    for (std::size_t p = 0; p < K; ++p) below[tree.parent[v] * K + p] *= up[v * K + p];
  }
  double sum = 0;
  for (std::size_t k = 0; k < K; ++k) sum += below[k];
  exact.log_z += std::log(sum);
  for (std::size_t v = 1; v < n; ++v) {
    const std::size_t u = tree.parent[v];
    for (std::size_t k = 0; k < K; ++k) {
      above[v * K + k] = 0;
      for (std::size_t p = 0; p < K; ++p) {
        above[v * K + k] +=
            tree.pair[(v * K + p) * K + k] * above[u * K + p] * below[u * K + p] / up[v * K + p];
      }
    }
    scale(&above[v * K]);
  }
  exact.marginals.resize(n * K);
  for (std::size_t i = 0; i < n * K; ++i) exact.marginals[i] = above[i] * below[i];
  for (std::size_t v = 0; v < n; ++v) scale(&exact.marginals[v * K]);
  return exact;
}

void expect_exact(std::size_t variables, std::size_t card, int shards) {
  const Tree tree = random_tree(variables, card);
  const Exact right = two_passes(tree);
  Belief learner(Parameters{});
  test::train_belief(learner, test::factor_part(data::factor_rows(graph_of(tree)), shards), 2);
  const AttemptResult& found = learner.progress().best();
  EXPECT_TRUE(found.converged);
  EXPECT_LE(found.sweeps, 2);
  EXPECT_NEAR(found.log_z / right.log_z, 1, 1e-9);
  double most = 0;
  for (std::size_t i = 0; i < right.marginals.size(); ++i) {
    most = std::max(most, std::abs(learner.marginals()[i] - right.marginals[i]));
  }
  EXPECT_LE(most, 1e-9);
}

TEST(BeliefTree, OfAMillionBinaryVariablesIsExact) { expect_exact(1'000'000, 2, 8); }

TEST(BeliefTree, OfManyStatesIsExact) { expect_exact(20'000, 20, 3); }

}  // namespace
}  // namespace meanwhile::learn::belief
