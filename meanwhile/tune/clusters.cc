#include "meanwhile/tune/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/kmeans/recenter.h"
#include "meanwhile/learn/kmeans/silhouette.h"

namespace meanwhile::tune {

namespace {

namespace kmeans = learn::kmeans;

class Comparison {
 public:
  Comparison(const Setting& setting, const std::vector<Json>& parameters, const data::Part& part,
             const ClusterOptions& options)
      : setting_(setting),
        parameters_(parameters),
        part_(part),
        options_(options),
        found_(parameters.size()) {}

  // Every number by itself, side by side: the largest first, for they take longest.
  bool train_each(const std::vector<Chain>& chains) {
    std::vector<std::size_t> order;
    for (const Chain& chain : chains) order.insert(order.end(), chain.begin(), chain.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return clusters_of(a) > clusters_of(b); });
    const int side_by_side =
        std::min(options_.threads, static_cast<int>(std::min<std::size_t>(order.size(), 1 << 16)));
    base::ThreadPool pool(side_by_side);
    const int threads = std::max(1, options_.threads / side_by_side);
    pool.run(static_cast<std::int64_t>(order.size()), [&](std::int64_t task, int thread) {
      const std::size_t i = order[static_cast<std::size_t>(task)];
      if (thread == 0) options_.step(fmt::format("k-means of {} clusters", clusters_of(i)));
      keep(i, setting_.entry.make(parameters_[i]), threads);
    });
    return !interrupted_;
  }

  // Along a chain: up by cutting clusters in two, then down by putting them together.
  bool improve(const Chain& chain) {
    if (chain.size() < 2 || !is_plain(chain.front())) return true;
    for (std::size_t at = 1; at < chain.size() && !interrupted_; ++at) {
      const kmeans::Model& from = found_[chain[at - 1]].model;
      const auto labels = kmeans::assign(from, part_.data, options_.threads).labels;
      improve(chain[at], kmeans::split_centers(from, part_.data, labels, clusters_of(chain[at])));
    }
    for (std::size_t at = chain.size() - 1; at-- > 0 && !interrupted_;) {
      const kmeans::Model& from = found_[chain[at + 1]].model;
      improve(chain[at], kmeans::merge_centers(from, clusters_of(chain[at])));
    }
    return !interrupted_;
  }

  std::vector<Clustering> judged() {
    const auto ids = kmeans::silhouette_rows(
        data::rows(part_.data.x),
        options_.silhouette_rows > 0 ? options_.silhouette_rows
                                     : default_silhouette_rows(data::cols(part_.data.x)),
        setting_.seed);
    for (Clustering& found : found_) {
      options_.step(fmt::format("silhouette of {} clusters", found.model.n_clusters));
      const double begin_s = base::now_s();
      const kmeans::Assignment assigned = kmeans::assign(found.model, part_.data, options_.threads);
      found.inertia = assigned.inertia;
      std::vector<std::int32_t> labels;
      for (const std::int64_t id : ids) {
        labels.push_back(assigned.labels[static_cast<std::size_t>(id)]);
      }
      found.silhouette =
          kmeans::silhouette(part_.data.x, ids, labels, found.model.metric, options_.threads);
      found.seconds += base::now_s() - begin_s;
    }
    return std::move(found_);
  }

 private:
  std::int64_t clusters_of(std::size_t i) const {
    return parameters_[i].at("n_clusters").get<std::int64_t>();
  }

  // Halves and means are those of Euclidean distances, and mini-batches see few rows at a time.
  bool is_plain(std::size_t i) const {
    const Json& parameters = parameters_[i];
    return parameters.at("metric") == "euclidean" &&
           parameters.at("batch_size").get<std::int64_t>() == 0;
  }

  void improve(std::size_t i, std::vector<double> centers) {
    if (centers.empty()) return;
    options_.step(fmt::format("k-means of {} clusters", clusters_of(i)));
    auto learner = std::make_unique<kmeans::KMeans>(kmeans::parameters_from_json(parameters_[i]));
    learner->set_initial_centers(std::move(centers), data::cols(part_.data.x));
    keep(i, std::move(learner), options_.threads);
  }

  // Trains, and keeps the model if it is the best so far of candidate i.
  void keep(std::size_t i, std::unique_ptr<learn::RoundLearner> learner, int threads) {
    if (interrupted_) return;
    const double begin_s = base::now_s();
    const TrainedState trained = train(setting_, std::move(learner), part_, threads);
    if (trained.result.interrupted) {
      interrupted_ = true;
      return;
    }
    Clustering& found = found_[i];
    const double inertia = trained.result.objective;
    if (found.model.n_clusters == 0 || inertia < found.inertia) {
      found.model = kmeans::load_model(data::SafetensorsFile(trained.file, kStateName));
      found.inertia = inertia;
      found.fell_short = trained.fell_short;
    }
    found.rounds += static_cast<double>(trained.result.rounds);
    found.seconds += base::now_s() - begin_s;
  }

  const Setting& setting_;
  const std::vector<Json>& parameters_;
  const data::Part& part_;
  const ClusterOptions& options_;
  std::vector<Clustering> found_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

std::optional<std::vector<Clustering>> compare_clusters(const Setting& setting,
                                                        const std::vector<Json>& parameters,
                                                        const std::vector<Chain>& chains,
                                                        const data::Part& part,
                                                        const ClusterOptions& options) {
  Comparison comparison(setting, parameters, part, options);
  if (!comparison.train_each(chains)) return std::nullopt;
  for (const Chain& chain : chains) {
    if (!comparison.improve(chain)) return std::nullopt;
  }
  return comparison.judged();
}

std::int64_t default_silhouette_rows(std::int64_t cols) {
  constexpr double kComparisons = 4e7;  // of two rows with few columns
  constexpr double kRow = 16;           // columns whose cost is that of a pair itself
  const double pairs = kComparisons * kRow / (kRow + static_cast<double>(cols));
  return std::max<std::int64_t>(1000, static_cast<std::int64_t>(std::sqrt(pairs)));
}

std::optional<std::size_t> elbow(std::span<const double> n_clusters,
                                 std::span<const double> inertia) {
  std::optional<std::size_t> found;
  double most = 0;
  const auto slope = [&](std::size_t from) {
    return std::log(inertia[from] / inertia[from + 1]) /
           std::log(n_clusters[from + 1] / n_clusters[from]);
  };
  for (const double value : inertia) {
    if (!(value > 0)) return std::nullopt;
  }
  for (std::size_t i = 1; i + 1 < inertia.size(); ++i) {
    const double bend = slope(i - 1) - slope(i);
    if (bend <= most) continue;
    most = bend;
    found = i;
  }
  return found;
}

}  // namespace meanwhile::tune
