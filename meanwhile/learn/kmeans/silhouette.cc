#include "meanwhile/learn/kmeans/silhouette.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/kmeans/assign.h"

namespace meanwhile::learn::kmeans {

namespace {

constexpr std::int64_t kSilhouetteBlock = 32;  // rows in a task

// Distances of rows to all rows of a sample.
class SampleDistances {
 public:
  SampleDistances(const data::Matrix& x, Ids ids, Metric metric)
      : x_(x), ids_(ids), metric_(metric) {
    if (data::is_sparse(x)) {
      norms_.resize(ids.size());
      std::visit([&](const auto& m) { fill_norms(m); }, x);
      return;
    }
    const auto cols = static_cast<std::size_t>(data::cols(x));
    std::vector<double> rows(ids.size() * cols);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      copy_row(x, metric, ids[i], std::span(rows).subspan(i * cols, cols));
    }
    prepared_ = prepare(x, metric, rows, std::ssize(ids), {std::vector<float>(cols), 1.0F},
                        Screen::kFloat32);
  }

  struct Memory {
    AssignScratch assign;
    std::vector<double> row;
  };

  // distances[j] = from row ids[i] to row ids[j].
  void of(std::size_t i, Memory& memory, std::span<double> distances) const {
    if (data::is_sparse(x_)) {
      std::visit([&](const auto& m) { of_sparse(m, i, memory.row, distances); }, x_);
    } else {
      all_distances(x_, prepared_, ids_.subspan(i, 1), memory.assign, distances.data());
    }
    if (metric_ == Metric::kCosine) return;
    for (double& distance : distances) distance = std::sqrt(distance);
  }

 private:
  template <class M>
  void fill_norms(const M& m) {
    if constexpr (data::kIsSparse<M>) {
      for (std::size_t i = 0; i < ids_.size(); ++i) {
        for (const auto value : m.row(ids_[i]).values) {
          norms_[i] += static_cast<double>(value) * static_cast<double>(value);
        }
      }
    }
  }

  template <class M>
  void of_sparse(const M& m, std::size_t i, std::vector<double>& row,
                 std::span<double> distances) const {
    if constexpr (data::kIsSparse<M>) {
      row.resize(static_cast<std::size_t>(m.cols));  // zeros from call to call
      const auto mine = m.row(ids_[i]);
      const auto put = [&](bool value) {
        for (std::size_t e = 0; e < mine.columns.size(); ++e) {
          row[static_cast<std::size_t>(mine.columns[e])] =
              value ? static_cast<double>(mine.values[e]) : 0.0;
        }
      };
      put(true);
      for (std::size_t j = 0; j < ids_.size(); ++j) {
        const auto other = m.row(ids_[j]);
        double product = 0;
        for (std::size_t e = 0; e < other.columns.size(); ++e) {
          product += row[static_cast<std::size_t>(other.columns[e])] *
                     static_cast<double>(other.values[e]);
        }
        distances[j] = distance_from(product, norms_[i], norms_[j]);
      }
      put(false);
    }
  }

  double distance_from(double product, double mine, double other) const {
    if (metric_ == Metric::kEuclidean) return std::max(0.0, mine - 2 * product + other);
    return mine > 0 && other > 0 ? 1 - product / std::sqrt(mine * other) : 1.0;
  }

  const data::Matrix& x_;
  Ids ids_;
  Metric metric_;
  Prepared prepared_;          // dense rows
  std::vector<double> norms_;  // sparse rows: squared lengths
};

}  // namespace

std::vector<std::int64_t> silhouette_rows(std::int64_t rows, std::int64_t sample,
                                          std::uint64_t seed) {
  std::vector<std::int64_t> ids;
  if (sample >= rows) {
    ids.resize(static_cast<std::size_t>(rows));
    std::iota(ids.begin(), ids.end(), std::int64_t{0});
    return ids;
  }
  if (sample < 1) return ids;
  const base::Random random(seed, base::Purpose::kSample, 0, 0);
  // A heap of the smallest so far, the largest of them on top.
  std::vector<std::pair<std::uint64_t, std::int64_t>> smallest;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::pair mine{random.bits(static_cast<std::uint64_t>(row)), row};
    if (std::ssize(smallest) == sample) {
      if (mine > smallest.front()) continue;
      std::pop_heap(smallest.begin(), smallest.end());
      smallest.pop_back();
    }
    smallest.push_back(mine);
    std::push_heap(smallest.begin(), smallest.end());
  }
  for (const auto& [number, row] : smallest) ids.push_back(row);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<double> silhouette(const data::Matrix& x, std::span<const std::int64_t> ids,
                                 std::span<const std::int32_t> labels, Metric metric,
                                 base::Threads threads) {
  const std::int32_t most = labels.empty() ? -1 : *std::max_element(labels.begin(), labels.end());
  std::vector<double> sizes(static_cast<std::size_t>(most + 1));
  for (const std::int32_t label : labels) ++sizes[static_cast<std::size_t>(label)];
  const auto clusters = std::count_if(sizes.begin(), sizes.end(), [](double n) { return n > 0; });
  if (clusters < 2 || clusters >= std::ssize(ids)) return std::nullopt;

  const SampleDistances distances(x, ids, metric);
  const auto n = std::ssize(ids);
  std::vector<double> of_row(ids.size());
  base::ThreadPool pool(threads);
  std::vector<SampleDistances::Memory> memories(static_cast<std::size_t>(threads.count));
  pool.run((n + kSilhouetteBlock - 1) / kSilhouetteBlock, [&](std::int64_t block, int thread) {
    std::vector<double> to_rows(ids.size()), to_clusters(sizes.size());
    const std::int64_t end = std::min(n, (block + 1) * kSilhouetteBlock);
    for (auto i = static_cast<std::size_t>(block * kSilhouetteBlock);
         i < static_cast<std::size_t>(end); ++i) {
      const auto mine = static_cast<std::size_t>(labels[i]);
      if (sizes[mine] == 1) continue;
      distances.of(i, memories[static_cast<std::size_t>(thread)], to_rows);
      to_rows[i] = 0;
      std::fill(to_clusters.begin(), to_clusters.end(), 0.0);
      for (std::size_t j = 0; j < ids.size(); ++j) {
        to_clusters[static_cast<std::size_t>(labels[j])] += to_rows[j];
      }
      const double own = to_clusters[mine] / (sizes[mine] - 1);
      double nearest = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        if (k != mine && sizes[k] > 0) nearest = std::min(nearest, to_clusters[k] / sizes[k]);
      }
      const double larger = std::max(own, nearest);
      of_row[i] = larger > 0 ? (nearest - own) / larger : 0;
    }
  });
  return std::accumulate(of_row.begin(), of_row.end(), 0.0) / static_cast<double>(n);
}

}  // namespace meanwhile::learn::kmeans
