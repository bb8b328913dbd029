// How many clusters: k-means of several numbers, judged by silhouette and inertia.
//
// A number of clusters too small or too large has a lower silhouette only if the k-means of each
// number is near its best one. So each number is trained as `train` would (n_init starts), from the
// clusters of the next smaller number with some cut in two, and from those of the next larger one
// with some put together; the lowest inertia is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/data/part.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/tune/grid.h"
#include "meanwhile/tune/training.h"

namespace meanwhile::tune {

struct ClusterOptions {
  int threads = 1;
  std::int64_t silhouette_rows = 0;  // 0: by the number of columns
  // Called on the calling thread, with what is done next.
  std::function<void(const std::string&)> step = [](const std::string&) {};
};

struct Clustering {
  learn::kmeans::Model model;
  double inertia = 0;
  std::optional<double> silhouette;  // none: one cluster, or a cluster for each row
  double rounds = 0, seconds = 0;    // of all its trainings
  bool fell_short = false;           // max_iter ended the training that was kept
};

// One for each of `parameters`, which are settled; in the same order. Nothing when interrupted.
std::optional<std::vector<Clustering>> compare_clusters(const Setting& setting,
                                                        const std::vector<Json>& parameters,
                                                        const std::vector<Chain>& chains,
                                                        const data::Part& part,
                                                        const ClusterOptions& options);

// Rows that a silhouette compares with each other: fewer where there are many columns.
std::int64_t default_silhouette_rows(std::int64_t cols);

// The place where `inertia`, which falls with `n_clusters`, bends most: it fell fast before and
// falls slowly after. Both are seen as logarithms, in which inertia of rows without clusters falls
// along a line. None with fewer than three numbers, or where an inertia is 0.
std::optional<std::size_t> elbow(std::span<const double> n_clusters,
                                 std::span<const double> inertia);

}  // namespace meanwhile::tune
