// Data for tests of learners, and a serial k-means that shares no code with the one under test.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "meanwhile/data/dataset.h"

namespace meanwhile::test {

template <class T>
data::Dataset dense(std::vector<T> values, std::int64_t cols, std::vector<double> weights = {}) {
  auto kept = std::make_shared<std::pair<std::vector<T>, std::vector<double>>>(std::move(values),
                                                                               std::move(weights));
  data::Dataset data;
  data.x = data::Dense<T>{kept->first.data(), static_cast<std::int64_t>(kept->first.size()) / cols,
                          cols};
  data.weights = kept->second;
  data.owners.push_back(kept);
  return data;
}

// The same values, zeros left out.
template <class T>
data::Dataset sparse(const std::vector<T>& values, std::int64_t cols,
                     std::vector<double> weights = {}) {
  struct Kept {
    std::vector<std::int64_t> row_start{0};
    std::vector<std::int32_t> columns;
    std::vector<T> values;
    std::vector<double> weights;
  };
  auto kept = std::make_shared<Kept>();
  kept->weights = std::move(weights);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto column = static_cast<std::int32_t>(i % static_cast<std::size_t>(cols));
    if (values[i] != 0) {
      kept->columns.push_back(column);
      kept->values.push_back(values[i]);
    }
    if (column + 1 == cols)
      kept->row_start.push_back(static_cast<std::int64_t>(kept->values.size()));
  }
  data::Dataset data;
  data.x = data::Sparse<T>{kept->row_start.data(), kept->columns.data(), kept->values.data(),
                           static_cast<std::int64_t>(kept->row_start.size()) - 1, cols};
  data.weights = kept->weights;
  data.owners.push_back(kept);
  return data;
}

template <class T = float>
std::vector<T> uniform(std::int64_t rows, std::int64_t cols, unsigned seed, double low = 0,
                       double high = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<T> values(static_cast<std::size_t>(rows * cols));
  for (T& value : values) value = static_cast<T>(draw(random));
  return values;
}

// `clusters` Gaussian blobs of standard deviation 1 about centres in [-range, range]^cols.
template <class T = float>
std::vector<T> blobs(std::int64_t rows, std::int64_t cols, std::int64_t clusters, double range,
                     unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> place(-range, range);
  std::normal_distribution<double> noise;
  std::vector<double> centers(static_cast<std::size_t>(clusters * cols));
  for (double& value : centers) value = place(random);
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto cluster = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(clusters));
    for (std::int64_t j = 0; j < cols; ++j) {
      values.push_back(static_cast<T>(
          centers[cluster * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)] +
          noise(random)));
    }
  }
  return values;
}

struct SerialKMeans {
  std::vector<double> centers;
  std::vector<std::int32_t> labels;
  std::vector<double> second;  // squared distance to the second nearest
  double inertia = 0;          // of `labels`, before the centres moved
};

// One round of Lloyd's algorithm, by the definition, in float64.
template <class T>
SerialKMeans serial_round(const std::vector<T>& x, std::int64_t cols, std::vector<double> centers,
                          const std::vector<double>& weights = {}) {
  const auto D = static_cast<std::size_t>(cols);
  const std::size_t N = x.size() / D, K = centers.size() / D;
  SerialKMeans result;
  std::vector<double> sums(K * D, 0.0), counts(K, 0.0);
  for (std::size_t i = 0; i < N; ++i) {
    double best = std::numeric_limits<double>::infinity(), second = best;
    std::size_t label = 0;
    for (std::size_t k = 0; k < K; ++k) {
      double squared = 0;
      for (std::size_t j = 0; j < D; ++j) {
        const double difference = static_cast<double>(x[i * D + j]) - centers[k * D + j];
        squared += difference * difference;
      }
      if (squared < best) {
        second = best;
        best = squared;
        label = k;
      } else if (squared < second) {
        second = squared;
      }
    }
    const double weight = weights.empty() ? 1.0 : weights[i];
    result.labels.push_back(static_cast<std::int32_t>(label));
    result.second.push_back(second);
    result.inertia += weight * best;
    counts[label] += weight;
    for (std::size_t j = 0; j < D; ++j)
      sums[label * D + j] += weight * static_cast<double>(x[i * D + j]);
  }
  for (std::size_t k = 0; k < K; ++k) {
    if (counts[k] == 0) continue;
    for (std::size_t j = 0; j < D; ++j) centers[k * D + j] = sums[k * D + j] / counts[k];
  }
  result.centers = std::move(centers);
  return result;
}

}  // namespace meanwhile::test
