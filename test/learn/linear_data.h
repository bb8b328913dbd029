// Data with labels for tests of linear models, and a short way to train on it.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/job/train.h"
#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/model.h"
#include "test/learn/points.h"
#include "test/temporary_folder.h"

namespace meanwhile::test {

struct Labelled {
  std::vector<double> x, y, weights;  // weights: empty, or one a row
  std::int64_t cols = 1;
  std::vector<std::string> class_names = {};

  std::size_t rows() const { return y.size(); }
};

enum class Storage { kDense, kSparse };

inline data::Dataset dataset(const Labelled& from, Storage storage = Storage::kSparse) {
  data::Dataset data = storage == Storage::kDense ? dense(from.x, from.cols, from.weights)
                                                  : sparse(from.x, from.cols, from.weights);
  auto labels = std::make_shared<std::vector<double>>(from.y);
  data.labels = *labels;
  data.owners.push_back(labels);
  data.class_names = from.class_names;
  return data;
}

// Rows whose labels a plane (for each class) decides, with noise. classes 0: regression. A value is
// absent with probability 1 - density.
inline Labelled rows_for(std::size_t classes, std::size_t rows, std::int64_t cols, unsigned seed,
                         double density = 1, double noise = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto D = static_cast<std::size_t>(cols);
  const std::size_t planes = std::max<std::size_t>(classes, 1);
  std::vector<double> truth((D + 1) * planes);
  for (double& t : truth) t = normal(random);
  Labelled data;
  data.cols = cols;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> z(planes);
    for (std::size_t k = 0; k < planes; ++k) {
      z[k] = truth[D * planes + k] + noise * normal(random);
    }
    for (std::size_t j = 0; j < D; ++j) {
      const double x = uniform(random) < density ? normal(random) : 0;
      data.x.push_back(x);
      for (std::size_t k = 0; k < planes; ++k) z[k] += truth[j * planes + k] * x;
    }
    const auto best = static_cast<double>(std::max_element(z.begin(), z.end()) - z.begin());
    data.y.push_back(classes == 0 ? z[0] : best);
  }
  return data;
}

// The rows of `data` in another order.
inline Labelled in_order(const Labelled& data, const std::vector<std::size_t>& order) {
  Labelled moved = data;
  const auto D = static_cast<std::size_t>(data.cols);
  moved.x.clear(), moved.y.clear(), moved.weights.clear();
  for (const std::size_t i : order) {
    const auto row = data.x.begin() + static_cast<std::ptrdiff_t>(i * D);
    moved.x.insert(moved.x.end(), row, row + data.cols);
    moved.y.push_back(data.y[i]);
    if (!data.weights.empty()) moved.weights.push_back(data.weights[i]);
  }
  return moved;
}

struct TrainedLinear {
  std::vector<double> w;
  job::TrainResult result;
  std::vector<job::RoundEvent> rounds;  // those of training
  learn::linear::Model model;
};

inline job::TrainOptions on(int shards, std::uint64_t seed = 1) {
  job::TrainOptions options;
  options.threads = 2;
  options.shards = shards;
  options.seed = seed;
  return options;
}

inline learn::linear::Model model_of(const learn::RoundLearner& learner) {
  const TemporaryFolder folder;
  job::write_state(folder / "state", learner.state(), 0);
  return learn::linear::load_model(data::SafetensorsFile(folder / "state"));
}

inline TrainedLinear train(learn::linear::Linear& learner, const data::Dataset& data,
                           const job::TrainOptions& options = on(4)) {
  TrainedLinear trained;
  trained.result =
      job::train(learner, data, options, nullptr, nullptr, [&](const job::RoundEvent& event) {
        if (event.outcome.phase == learn::Phase::kTrain) trained.rounds.push_back(event);
      });
  trained.w.assign(learner.weights().begin(), learner.weights().end());
  trained.model = model_of(learner);
  return trained;
}

inline TrainedLinear train(learn::linear::Kind kind, const learn::linear::Parameters& parameters,
                           const data::Dataset& data, const job::TrainOptions& options = on(4)) {
  learn::linear::Linear learner(kind, parameters);
  return train(learner, data, options);
}

// The largest difference of two vectors.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace meanwhile::test
