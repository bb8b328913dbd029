// Cost: P points are compared pair by pair, P^2 D, with P = the sum of K over the models; Lloyd's
// rounds cost P K D.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/kmeans/recenter.h"
#include "meanwhile/learn/merge_parts.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn {

namespace {

constexpr int kMergeRounds = 1000;  // that no set of points needs

void make_unit(std::span<double> row) {
  const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
  for (double& value : row) value = length > 0 ? value / length : value;
}

std::size_t nearest_center(std::span<const double> point, const std::vector<double>& centers) {
  const std::size_t D = point.size();
  double least = std::numeric_limits<double>::infinity();
  std::size_t found = 0;
  for (std::size_t k = 0; k * D < centers.size(); ++k) {
    double squared = 0;
    for (std::size_t j = 0; j < D; ++j) {
      squared += (point[j] - centers[k * D + j]) * (point[j] - centers[k * D + j]);
    }
    if (squared >= least) continue;
    least = squared;
    found = k;
  }
  return found;
}

// Lloyd's rounds over weighted points; `model` has the first centres, and gets the last.
void settle_centers(const kmeans::Model& points, kmeans::Model& model) {
  const auto D = static_cast<std::size_t>(points.cols);
  const std::size_t P = points.counts.size();
  std::vector<std::size_t> labels(P, P);
  for (int round = 0; round < kMergeRounds; ++round) {
    bool moved = false;
    std::vector<double> sums(model.centers.size(), 0.0);
    model.counts.assign(static_cast<std::size_t>(model.n_clusters), 0.0);
    for (std::size_t i = 0; i < P; ++i) {
      const std::span<const double> point(points.centers.data() + i * D, D);
      const std::size_t k = nearest_center(point, model.centers);
      moved |= k != labels[i];
      labels[i] = k;
      model.counts[k] += points.counts[i];
      for (std::size_t j = 0; j < D; ++j) sums[k * D + j] += points.counts[i] * point[j];
    }
    if (!moved) return;
    for (std::size_t k = 0; k < model.counts.size(); ++k) {
      if (!(model.counts[k] > 0)) continue;
      const std::span<double> center(model.centers.data() + k * D, D);
      for (std::size_t j = 0; j < D; ++j) center[j] = sums[k * D + j] / model.counts[k];
      if (model.metric == kmeans::Metric::kCosine) make_unit(center);
    }
  }
}

}  // namespace

MergedParts merge_kmeans(std::span<const MergeInput> models) {
  MergedParts merged;
  kmeans::Model points;
  std::int64_t n_clusters = 0;
  std::vector<kmeans::Model> loaded;
  for (const MergeInput& input : models) {
    const kmeans::Model& model = loaded.emplace_back(kmeans::load_model(*input.file));
    const kmeans::Model& first = loaded.front();
    check_widths(models.front(), {first.cols, first.open}, input, {model.cols, model.open});
    if (model.metric != first.metric) refuse_merge(models.front(), input, "their metrics differ");
    n_clusters = std::max(n_clusters, model.n_clusters);
    points.cols = std::max(points.cols, model.cols);
  }
  points.metric = loaded.front().metric;
  for (const kmeans::Model& narrow : loaded) {
    const kmeans::Model model = kmeans::widened(narrow, points.cols);
    const auto D = static_cast<std::ptrdiff_t>(model.cols);
    for (std::size_t k = 0; k < model.counts.size(); ++k) {
      if (!(model.counts[k] > 0)) continue;
      const auto center = model.centers.begin() + static_cast<std::ptrdiff_t>(k) * D;
      points.centers.insert(points.centers.end(), center, center + D);
      points.counts.push_back(model.counts[k]);
    }
    merged.weights.push_back(std::accumulate(model.counts.begin(), model.counts.end(), 0.0));
  }
  points.n_clusters = static_cast<std::int64_t>(points.counts.size());
  if (points.n_clusters < n_clusters) {
    throw base::Error(base::ErrorKind::kInput,
                      "these models have {} with rows together, which is fewer than the {} of one",
                      base::counted(points.n_clusters, "cluster"), n_clusters);
  }
  kmeans::Model model{points.metric, n_clusters, points.cols, points.centers, points.counts};
  if (points.n_clusters > n_clusters) {
    model.centers = kmeans::merge_centers(points, n_clusters);
    for (std::size_t k = 0; model.metric == kmeans::Metric::kCosine && k < model.counts.size();
         ++k) {
      if (static_cast<std::int64_t>(k) >= n_clusters) break;
      const auto D = static_cast<std::size_t>(model.cols);
      make_unit(std::span(model.centers).subspan(k * D, D));
    }
  }
  settle_centers(points, model);
  merged.tensors["centers"] = {{n_clusters, model.cols}, model.centers};
  merged.tensors["counts"] = {{n_clusters}, model.counts};
  merged.parameters = metadata_json(*models.front().file, "parameters", "a k-means model");
  merged.parameters["n_clusters"] = n_clusters;
  merged.about = metadata_json(*models.front().file, "about", "a k-means model");
  return merged;
}

}  // namespace meanwhile::learn
