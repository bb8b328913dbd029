// The model of k-means, and its uses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/kmeans/parameters.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::kmeans {

// The distance reported everywhere: squared Euclidean, or 1 - cosine. Its weighted sum over the
// rows is the inertia. (transform() gives the Euclidean distance itself, as scikit-learn does.)
struct Model {
  Metric metric = Metric::kEuclidean;
  std::int64_t n_clusters = 0, cols = 0;
  std::vector<double> centers;  // n_clusters x cols, row-major; unit length under cosine
  std::vector<double> counts;   // weight of the rows that made each centre; 0: an empty cluster
  // Rows may have more columns, and those it was made from were 0 there: libsvm files have as many
  // as their largest index.
  bool open = false;
};

// The same centres in a space of `cols` columns, 0 in those that are added. REQUIRES: model.cols
// <= cols.
Model widened(const Model& model, std::int64_t cols);

// THROWS Error(kInput) when the file is not a k-means model.
Model load_model(const data::SafetensorsFile& file);

struct Assignment {
  std::vector<std::int32_t> labels;  // the nearest centre of each row; the lowest of equals
  double inertia = 0;
  std::vector<double> counts;  // weight of the rows of each cluster
};

// Thread count never changes a result. THROWS Error(kInput) when columns do not fit the model.
Assignment assign(const Model& model, const data::Dataset& data, base::Threads threads);

// Distances of rows [begin, end) to every centre, (end - begin) x n_clusters, row-major.
void transform(const Model& model, const data::Dataset& data, std::int64_t begin, std::int64_t end,
               base::Threads threads, std::span<double> distances);

}  // namespace meanwhile::learn::kmeans
