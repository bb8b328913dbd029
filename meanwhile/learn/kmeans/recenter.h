// First centres for a number of clusters, from a k-means of another number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/learn/kmeans/model.h"

namespace meanwhile::learn::kmeans {

// The clusters with most inertia are cut in two, where their rows' widest column is at its mean:
// each half has the mean of its rows as centre. `labels`: the cluster of each row. Returns
// n_clusters x cols; empty when there are not enough clusters that can be cut.
// REQUIRES: Euclidean distances, more clusters than the model has.
std::vector<double> split_centers(const Model& model, const data::Dataset& data,
                                  std::span<const std::int32_t> labels, std::int64_t n_clusters);

// The two clusters that add least inertia when they become one do so, again and again.
// REQUIRES: 1 <= n_clusters < those of the model.
std::vector<double> merge_centers(const Model& model, std::int64_t n_clusters);

}  // namespace meanwhile::learn::kmeans
