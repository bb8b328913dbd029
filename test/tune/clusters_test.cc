#include "meanwhile/tune/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "meanwhile/learn/kmeans/recenter.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/learn/settle.h"
#include "test/learn/points.h"

namespace meanwhile::tune {
namespace {

using learn::kmeans::merge_centers;
using learn::kmeans::split_centers;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

// Inertia of `rows` about the nearest of `centers`, by the definition.
double inertia_of(const std::vector<double>& rows, const std::vector<double>& centers,
                  std::size_t cols) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); i += cols) {
    double nearest = INFINITY;
    for (std::size_t k = 0; k < centers.size(); k += cols) {
      double squared = 0;
      for (std::size_t j = 0; j < cols; ++j) {
        squared += (rows[i + j] - centers[k + j]) * (rows[i + j] - centers[k + j]);
      }
      nearest = std::min(nearest, squared);
    }
    sum += nearest;
  }
  return sum;
}

TEST(Recenter, TheWidestClusterIsCutWhereItIsWidest) {
  const std::vector<double> rows = {0, 0, 0, 1, 10, 0, 10, 1, 50, 0, 50, 2};
  const std::vector<std::int32_t> labels = {0, 0, 0, 0, 1, 1};
  const learn::kmeans::Model model{
      .n_clusters = 2, .cols = 2, .centers = {5, 0.5, 50, 1}, .counts = {4, 2}};
  const std::vector<double> expected = {0, 0.5, 50, 1, 10, 0.5};
  EXPECT_THAT(split_centers(model, test::dense(rows, 2), labels, 3),
              Pointwise(DoubleNear(1e-12), expected));
  EXPECT_THAT(split_centers(model, test::sparse(rows, 2), labels, 3),
              Pointwise(DoubleNear(1e-12), expected));
}

TEST(Recenter, AWeightIsThatManyRows) {
  const learn::kmeans::Model model{.n_clusters = 1, .cols = 1, .centers = {2.5}, .counts = {4}};
  EXPECT_THAT(split_centers(model, test::dense<double>({0, 2, 8}, 1, {2, 1, 1}),
                            std::vector<std::int32_t>{0, 0, 0}, 2),
              Pointwise(DoubleNear(1e-12), std::vector<double>{2.0 / 3, 8}));
}

TEST(Recenter, ClustersOfEqualRowsCannotBeCut) {
  const learn::kmeans::Model model{.n_clusters = 1, .cols = 1, .centers = {3}, .counts = {2}};
  EXPECT_THAT(
      split_centers(model, test::dense<double>({3, 3}, 1), std::vector<std::int32_t>{0, 0}, 2),
      ElementsAre());
}

TEST(Recenter, TheCheapestMergerIsOfLightNeighbours) {
  // 10 and 11 are nearer than 0 and 2, but heavy.
  const learn::kmeans::Model model{
      .n_clusters = 4, .cols = 1, .centers = {0, 2, 10, 11}, .counts = {1, 1, 100, 100}};
  EXPECT_THAT(merge_centers(model, 3), ElementsAre(1, 10, 11));
  EXPECT_THAT(merge_centers(model, 2), ElementsAre(1, 10.5));
}

// Every pair is compared for every merger.
std::vector<double> merged_one_by_one(std::vector<double> centers, std::vector<double> weights,
                                      std::size_t n_clusters) {
  while (weights.size() > n_clusters) {
    std::size_t first = 0, second = 0;
    double least = INFINITY;
    for (std::size_t a = 0; a < weights.size(); ++a) {
      for (std::size_t b = a + 1; b < weights.size(); ++b) {
        const double x = centers[2 * a] - centers[2 * b],
                     y = centers[2 * a + 1] - centers[2 * b + 1];
        const double adds = weights[a] * weights[b] / (weights[a] + weights[b]) * (x * x + y * y);
        if (adds < least) least = adds, first = a, second = b;
      }
    }
    const double a = weights[first], b = weights[second];
    for (const std::size_t j : {0u, 1u}) {
      centers[2 * first + j] = (a * centers[2 * first + j] + b * centers[2 * second + j]) / (a + b);
    }
    weights[first] += b;
    weights.erase(weights.begin() + static_cast<std::ptrdiff_t>(second));
    const auto gone = centers.begin() + static_cast<std::ptrdiff_t>(2 * second);
    centers.erase(gone, gone + 2);
  }
  return centers;
}

TEST(Recenter, MergersAreTheCheapestOfAllPairs) {
  std::mt19937_64 random(17);
  std::uniform_int_distribution<int> place(0, 9), weight(1, 4);  // with ties
  learn::kmeans::Model model{.n_clusters = 60, .cols = 2, .centers = {}, .counts = {}};
  for (int k = 0; k < 60; ++k) {
    model.centers.push_back(place(random));
    model.centers.push_back(place(random));
    model.counts.push_back(weight(random));
  }
  for (const int left : {59, 40, 7, 1}) {
    const auto expected =
        merged_one_by_one(model.centers, model.counts, static_cast<std::size_t>(left));
    EXPECT_THAT(merge_centers(model, left), Pointwise(DoubleNear(1e-12), expected)) << left;
  }
}

TEST(Elbow, LiesWhereInertiaStopsToFallFast) {
  const std::vector<double> numbers = {2, 3, 4, 5, 6}, inertia = {1000, 600, 100, 80, 66};
  EXPECT_EQ(elbow(numbers, inertia), 2U);
}

TEST(Elbow, IsNotWhereInertiaFallsByItsPowerLaw) {
  std::vector<double> numbers, inertia;
  for (double k = 2; k < 20; ++k) {
    numbers.push_back(k);
    inertia.push_back(1 / k * (k >= 9 ? 0.2 : 1));
  }
  EXPECT_EQ(elbow(numbers, inertia), 7U);
}

TEST(Elbow, NeedsThreeNumbersAndSomeInertia) {
  EXPECT_EQ(elbow(std::vector<double>{2, 3}, std::vector<double>{2, 1}), std::nullopt);
  EXPECT_EQ(elbow(std::vector<double>{2, 3, 4}, std::vector<double>{2, 1, 0}), std::nullopt);
}

std::vector<Clustering> compared(const std::vector<double>& rows, std::int64_t cols, int from,
                                 int to, int threads) {
  const learn::Entry& entry = learn::standard_registry().at("kmeans");
  std::vector<Json> parameters;
  Chain chain;
  for (int k = from; k <= to; ++k) {
    chain.push_back(chain.size());
    parameters.push_back(learn::settle(entry, nullptr, {{"n_clusters", k}, {"n_init", 1}}));
  }
  const data::Part part = data::whole(test::dense(rows, cols), 4, 1, 1);
  const learn::Comparing comparing = learn::comparing_of(entry.name);
  return *compare_clusters({entry, comparing, 1}, parameters, {chain}, part, {.threads = threads});
}

TEST(Clusters, TheSilhouetteIsHighestAtTheirNumber) {
  for (const int clusters : {3, 7}) {
    const auto rows = test::blobs<double>(900, 2, clusters, 60, 11);
    const auto found = compared(rows, 2, 2, 10, 1);
    std::size_t best = 0;
    for (std::size_t i = 1; i < found.size(); ++i) {
      if (*found[i].silhouette > *found[best].silhouette) best = i;
    }
    EXPECT_EQ(found[best].model.n_clusters, clusters);
  }
}

TEST(Clusters, MoreClustersNeverHaveMoreInertia) {
  const auto rows = test::uniform<double>(500, 3, 5);
  const auto found = compared(rows, 3, 2, 12, 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].inertia, inertia_of(rows, found[i].model.centers, 3),
                1e-9 * found[i].inertia);
    if (i > 0) {
      EXPECT_LE(found[i].inertia, found[i - 1].inertia);
    }
  }
}

TEST(Clusters, DoNotDependOnTheThreads) {
  const auto rows = test::blobs<double>(400, 2, 4, 20, 3);
  const auto one = compared(rows, 2, 2, 7, 1), three = compared(rows, 2, 2, 7, 3);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].model.centers, three[i].model.centers);
    EXPECT_EQ(one[i].silhouette, three[i].silhouette);
  }
}

}  // namespace
}  // namespace meanwhile::tune
