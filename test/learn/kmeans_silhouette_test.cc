#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "meanwhile/learn/kmeans/measures.h"
#include "meanwhile/learn/kmeans/silhouette.h"
#include "test/learn/points.h"

namespace meanwhile::learn::kmeans {
namespace {

using Labels = std::vector<std::int32_t>;

double distance(const double* a, const double* b, std::size_t cols, Metric metric) {
  double squared = 0, product = 0, of_a = 0, of_b = 0;
  for (std::size_t j = 0; j < cols; ++j) {
    squared += (a[j] - b[j]) * (a[j] - b[j]);
    product += a[j] * b[j];
    of_a += a[j] * a[j];
    of_b += b[j] * b[j];
  }
  if (metric == Metric::kEuclidean) return std::sqrt(squared);
  return of_a > 0 && of_b > 0 ? 1 - product / std::sqrt(of_a) / std::sqrt(of_b) : 1;
}

// By its definition.
double silhouette_by_definition(const std::vector<double>& rows, std::size_t cols,
                                const Labels& labels, Metric metric) {
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::map<std::int32_t, std::pair<double, double>> to;  // sum, count
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (i == j) continue;
      to[labels[j]].first += distance(&rows[i * cols], &rows[j * cols], cols, metric);
      to[labels[j]].second += 1;
    }
    if (!to.contains(labels[i])) continue;
    double b = std::numeric_limits<double>::infinity();
    for (const auto& [label, mean] : to) {
      if (label != labels[i]) b = std::min(b, mean.first / mean.second);
    }
    const double a = to[labels[i]].first / to[labels[i]].second;
    sum += (b - a) / std::max(a, b);
  }
  return sum / static_cast<double>(labels.size());
}

TEST(Silhouette, IsThatOfAllPairs) {
  constexpr std::int64_t kRows = 150, kCols = 21;
  std::vector<double> rows = test::uniform<double>(kRows, kCols, 3, -1, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 3 != 0) rows[i] = 0;
  }
  std::fill_n(rows.begin(), kCols, 0.0);  // a row of zeros
  Labels labels;
  for (int i = 0; i < kRows; ++i) labels.push_back(i == 7 ? 5 : i * i % 4);  // 5 has one row
  const auto ids = silhouette_rows(kRows, kRows, 0);
  for (const Metric metric : {Metric::kEuclidean, Metric::kCosine}) {
    const double expected = silhouette_by_definition(rows, kCols, labels, metric);
    for (const int threads : {1, 3}) {
      EXPECT_NEAR(silhouette(test::dense(rows, kCols).x, ids, labels, metric, threads).value(),
                  expected, 1e-12);
      EXPECT_NEAR(silhouette(test::sparse(rows, kCols).x, ids, labels, metric, threads).value(),
                  expected, 1e-7);
    }
  }
}

TEST(Silhouette, OfSomeRowsIsThatOfTheseRowsAlone) {
  const std::vector<double> rows = test::uniform<double>(200, 3, 4);
  const auto ids = silhouette_rows(200, 60, 11);
  ASSERT_EQ(ids.size(), 60U);
  std::vector<double> some;
  Labels labels;
  for (const std::int64_t id : ids) {
    some.insert(some.end(), rows.begin() + id * 3, rows.begin() + id * 3 + 3);
    labels.push_back(static_cast<std::int32_t>(id % 3));
  }
  const auto all = silhouette_rows(60, 100, 0);
  EXPECT_EQ(silhouette(test::dense(rows, 3).x, ids, labels, Metric::kEuclidean, 2),
            silhouette(test::dense(some, 3).x, all, labels, Metric::kEuclidean, 1));
}

TEST(Silhouette, SamplesAreAscendingDifferAndFollowTheSeed) {
  const auto ids = silhouette_rows(1000, 300, 1);
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_LT(ids[i - 1], ids[i]);
  EXPECT_GE(ids.front(), 0);
  EXPECT_LT(ids.back(), 1000);
  EXPECT_EQ(ids, silhouette_rows(1000, 300, 1));
  EXPECT_NE(ids, silhouette_rows(1000, 300, 2));
  double mean = 0;
  for (const std::int64_t id : ids) mean += static_cast<double>(id) / 300;
  EXPECT_NEAR(mean, 500, 60);
}

TEST(Silhouette, ThereIsNoneOfOneClusterNorOfRowsAlone) {
  const data::Dataset data = test::dense<float>({1, 2, 3, 4}, 1);
  const auto ids = silhouette_rows(4, 10, 0);
  EXPECT_FALSE(silhouette(data.x, ids, Labels{1, 1, 1, 1}, Metric::kEuclidean, 1));
  EXPECT_FALSE(silhouette(data.x, ids, Labels{0, 1, 2, 3}, Metric::kEuclidean, 1));
  EXPECT_FALSE(silhouette(data.x, {}, Labels{}, Metric::kEuclidean, 1));
  EXPECT_TRUE(silhouette(data.x, ids, Labels{0, 0, 2, 2}, Metric::kEuclidean, 1));
}

TEST(Silhouette, EvaluateSaysHowManyRowsItSaw) {
  Model model;
  model.n_clusters = 2;
  model.cols = 1;
  model.centers = {1, 8};
  model.counts = {2, 2};
  data::Dataset data = test::dense<double>({1, 2, 8, 9}, 1);
  const std::vector<double> labels = {5, 5, 6, 6};
  data.labels = labels;
  const Json all = measure(model, data, 1, 100, 0);
  EXPECT_EQ(all["silhouette_rows"], 4);
  // a is 1 for each row; b 7.5, 6.5, 6.5, 7.5.
  EXPECT_NEAR(all["silhouette"], (2 * 6.5 / 7.5 + 2 * 5.5 / 6.5) / 4, 1e-14);
  EXPECT_EQ(all["ari"], 1);
  EXPECT_NEAR(all["nmi"], 1, 1e-15);
  EXPECT_EQ(measure(model, data, 1, 3, 0)["silhouette_rows"], 3);
  EXPECT_TRUE(measure(model, data, 1, 1, 0)["silhouette"].is_null());
  EXPECT_FALSE(measure(model, data, 1, 0, 0).contains("silhouette"));
}

}  // namespace
}  // namespace meanwhile::learn::kmeans
