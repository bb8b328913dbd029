// Cost: split_centers makes two passes over the rows; merge_centers compares all pairs of centres
// once, then about one with all others for each cluster that goes. Ward, "Hierarchical grouping to
// optimize an objective function" (1963), has what a merger adds: w_a w_b / (w_a + w_b) times the
// squared distance.
#include "meanwhile/learn/kmeans/recenter.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>
#include <variant>

#include "meanwhile/learn/kmeans/seeding.h"

namespace meanwhile::learn::kmeans {

namespace {

// Calls use(column, value) for the values of a row that are stored.
template <class M, class Use>
void for_values(const M& m, std::int64_t row, const Use& use) {
  if constexpr (data::kIsSparse<M>) {
    const auto r = m.row(row);
    for (std::size_t e = 0; e < r.values.size(); ++e) {
      use(static_cast<std::size_t>(r.columns[e]), static_cast<double>(r.values[e]));
    }
  } else {
    const auto r = m.row(row);
    for (std::size_t j = 0; j < r.size(); ++j) use(j, static_cast<double>(r[j]));
  }
}

struct Widths {
  std::vector<double> weights;  // of each
  std::vector<double> squares;  // by cluster and column: about the centre
};

Widths measure_clusters(const Model& model, const data::Dataset& data,
                        std::span<const std::int32_t> labels) {
  const auto D = static_cast<std::size_t>(model.cols);
  const auto K = static_cast<std::size_t>(model.n_clusters);
  Widths found{std::vector<double>(K, 0.0), std::vector<double>(K * D, 0.0)};
  std::visit(
      [&](const auto& m) {
        for (std::size_t row = 0; row < labels.size(); ++row) {
          const auto k = static_cast<std::size_t>(labels[row]);
          const double weight = weight_of(data, static_cast<std::int64_t>(row));
          found.weights[k] += weight;
          for_values(m, static_cast<std::int64_t>(row), [&](std::size_t j, double value) {
            const double centre = model.centers[k * D + j], from = value - centre;
            // A value that is not stored is zero, and adds centre^2: put on for all below.
            const bool sparse = data::kIsSparse<std::decay_t<decltype(m)>>;
            found.squares[k * D + j] += weight * (from * from - (sparse ? centre * centre : 0));
          });
        }
      },
      data.x);
  if (data::is_sparse(data)) {
    for (std::size_t i = 0; i < K * D; ++i) {
      found.squares[i] += found.weights[i / D] * model.centers[i] * model.centers[i];
    }
  }
  return found;
}

// Mergers of clusters. The cheapest partner of each, among those behind it, is kept from merger to
// merger: a merger changes it for few.
class Mergers {
 public:
  explicit Mergers(const Model& model)
      : D_(static_cast<std::size_t>(model.cols)), centers_(model.centers), weights_(model.counts) {
    partners_.resize(weights_.size());
    for (std::size_t a = 0; a < weights_.size(); ++a) partners_[a] = cheapest_of(a);
  }

  std::vector<double> result(std::size_t n_clusters) {
    for (std::size_t left = weights_.size(); left > n_clusters; --left) {
      std::size_t first = 0;
      for (std::size_t a = 1; a < partners_.size(); ++a) {
        if (!gone(a) && (gone(first) || partners_[a].adds < partners_[first].adds)) first = a;
      }
      join(first, partners_[first].with);
    }
    std::vector<double> centers;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      if (gone(k)) continue;
      const auto center = centers_.begin() + static_cast<std::ptrdiff_t>(k * D_);
      centers.insert(centers.end(), center, center + static_cast<std::ptrdiff_t>(D_));
    }
    return centers;
  }

 private:
  struct Partner {
    double adds = std::numeric_limits<double>::infinity();  // inertia
    std::size_t with = 0;                                   // 0: none, for none is before the first
  };

  bool gone(std::size_t k) const { return weights_[k] < 0; }

  double added(std::size_t a, std::size_t b) const {
    const double both = weights_[a] + weights_[b];
    double squared = 0;
    for (std::size_t j = 0; j < D_; ++j) {
      const double apart = centers_[a * D_ + j] - centers_[b * D_ + j];
      squared += apart * apart;
    }
    return both > 0 ? weights_[a] * weights_[b] / both * squared : 0;
  }

  Partner cheapest_of(std::size_t a) const {
    Partner found;
    for (std::size_t b = a + 1; b < weights_.size(); ++b) {
      if (gone(b)) continue;
      const double adds = added(a, b);
      if (found.with == 0 || adds < found.adds) found = {adds, b};
    }
    return found;
  }

  // The second cluster goes.
  void join(std::size_t first, std::size_t second) {
    const double both = weights_[first] + weights_[second];
    for (std::size_t j = 0; j < D_ && both > 0; ++j) {
      double& mean = centers_[first * D_ + j];
      mean = (weights_[first] * mean + weights_[second] * centers_[second * D_ + j]) / both;
    }
    weights_[first] = both;
    weights_[second] = -1;
    for (std::size_t a = 0; a < second; ++a) {
      Partner& partner = partners_[a];
      if (gone(a)) continue;
      if (a == first || partner.with == first || partner.with == second) {
        partner = cheapest_of(a);
      } else if (a < first) {
        const double adds = added(a, first);
        if (adds < partner.adds || (adds == partner.adds && first < partner.with)) {
          partner = {adds, first};
        }
      }
    }
  }

  const std::size_t D_;
  std::vector<double> centers_, weights_;  // weight -1: the cluster is gone
  std::vector<Partner> partners_;
};

}  // namespace

std::vector<double> split_centers(const Model& model, const data::Dataset& data,
                                  std::span<const std::int32_t> labels, std::int64_t n_clusters) {
  const auto D = static_cast<std::size_t>(model.cols);
  const auto K = static_cast<std::size_t>(model.n_clusters);
  const Widths clusters = measure_clusters(model, data, labels);
  std::vector<double> inertia(K);
  std::vector<std::size_t> widest(K), order(K);
  for (std::size_t k = 0; k < K; ++k) {
    const auto first = clusters.squares.begin() + static_cast<std::ptrdiff_t>(k * D);
    const auto last = first + static_cast<std::ptrdiff_t>(D);
    inertia[k] = std::accumulate(first, last, 0.0);
    widest[k] = static_cast<std::size_t>(std::max_element(first, last) - first);
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return inertia[a] > inertia[b]; });

  // Sums and weights of the rows above the mean of the widest column.
  std::vector<double> above(K * D, 0.0), above_weight(K, 0.0);
  std::visit(
      [&](const auto& m) {
        for (std::size_t row = 0; row < labels.size(); ++row) {
          const auto k = static_cast<std::size_t>(labels[row]);
          double at = 0;
          for_values(m, static_cast<std::int64_t>(row), [&](std::size_t j, double value) {
            if (j == widest[k]) at = value;
          });
          if (at <= model.centers[k * D + widest[k]]) continue;
          const double weight = weight_of(data, static_cast<std::int64_t>(row));
          above_weight[k] += weight;
          for_values(m, static_cast<std::int64_t>(row),
                     [&](std::size_t j, double value) { above[k * D + j] += weight * value; });
        }
      },
      data.x);
  std::vector<double> centers = model.centers;
  auto missing = static_cast<std::size_t>(n_clusters) - K;
  for (const std::size_t k : order) {
    if (missing == 0) break;
    const double high = above_weight[k], low = clusters.weights[k] - high;
    if (!(high > 0) || !(low > 0)) continue;
    for (std::size_t j = 0; j < D; ++j) {
      const double sum = above[k * D + j];
      centers.push_back(sum / high);
      centers[k * D + j] = (clusters.weights[k] * model.centers[k * D + j] - sum) / low;
    }
    --missing;
  }
  if (missing > 0) centers.clear();
  return centers;
}

std::vector<double> merge_centers(const Model& model, std::int64_t n_clusters) {
  return Mergers(model).result(static_cast<std::size_t>(n_clusters));
}

}  // namespace meanwhile::learn::kmeans
