#include "meanwhile/learn/kmeans/assign.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/base/simd.h"
#include "meanwhile/data/release_rows.h"

namespace meanwhile::learn::kmeans {

namespace {

template <class T>
std::vector<const T*> row_pointers(const data::Dense<T>& x, Ids ids) {
  std::vector<const T*> rows(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) rows[i] = x.values + ids[i] * x.cols;
  return rows;
}

template <class T>
double inverse_length(const typename data::Sparse<T>::Row& row) {
  double norm2 = 0;
  for (const T value : row.values) norm2 += static_cast<double>(value) * static_cast<double>(value);
  return norm2 > 0 ? 1 / std::sqrt(norm2) : 0.0;
}

constexpr float kSlack = 0x1p-18F;  // more than float32 bounds and square roots are off by
constexpr float kTiny = 1e-18F;     // more than the root of what vanishes in float32

// The length that obeys the triangle inequality: Euclidean, or the chord between unit vectors. In
// float32: the caller makes it a bound by kSlack.
float rough_length(Metric metric, double value, double inverse) {
  const double squared = metric == Metric::kEuclidean ? value : 2 * (1 + inverse * value);
  return std::sqrt(static_cast<float>(std::clamp(squared, 0.0, 1e37)));
}

float upper_bound(Metric metric, double value, double inverse) {
  return rough_length(metric, value, inverse) * (1 + kSlack) + kTiny;
}

// Moves the bounds of the last round by what the centres moved; true when they still decide.
bool decided(const Drift& drift, std::int32_t label, float& upper, float& lower) {
  const Drift::Cluster& d = drift.clusters[static_cast<std::size_t>(label)];
  upper = (upper + d.own) * (1 + kSlack);
  lower = lower - d.others - std::abs(lower) * kSlack;
  return upper < std::max(lower, d.half_gap);
}

template <class T>
AssignCount assign_dense(const data::Dense<T>& x, const Prepared& centers, const Drift* drift,
                         const AssignRows& rows, AssignScratch& s) {
  const Kernels<T>& k = kernels<T>();
  const bool cosine = centers.metric == Metric::kCosine, bounded = rows.upper != nullptr;
  const std::size_t n = rows.ids.size();
  const bool known = n > 0 && rows.labels[0] >= 0, prune = known && bounded && drift != nullptr;
  s.moved.clear();
  s.open.resize(n);
  s.labels.resize(n);
  s.values.resize(n);
  s.others.resize(n);

  // First what the bounds decide without a look at the row. No branch: which way it goes is a toss.
  std::size_t left = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool done = prune && decided(*drift, rows.labels[i], rows.upper[i], rows.lower[i]);
    s.open[left] = static_cast<std::int32_t>(i);
    left += !done || rows.distances != nullptr ? 1 : 0;
  }
  std::vector<const T*> open(left);
  for (std::size_t i = 0; i < left; ++i) {
    open[i] = x.values + rows.ids[static_cast<std::size_t>(s.open[i])] * x.cols;
    s.labels[i] = rows.labels[s.open[i]];
  }
  s.inverse.assign(left, 1.0);
  if (cosine) k.inverse_lengths(open, centers.D, s.inverse.data());
  const auto write_distance = [&](std::size_t i) {
    if (rows.distances == nullptr) return;
    rows.distances[s.open[i]] = cosine ? 1 + s.inverse[i] * s.values[i] : s.values[i];
  };

  // Then what the exact distance to the own centre decides.
  if (known) k.values_of(centers.dense, open, s.labels.data(), s.values.data());
  if (prune) {
    std::size_t still = 0;
    for (std::size_t i = 0; i < left; ++i) {
      const std::int32_t at = s.open[i];
      const float own = upper_bound(centers.metric, s.values[i], s.inverse[i]);
      const float gap = drift->clusters[static_cast<std::size_t>(s.labels[i])].half_gap;
      rows.upper[at] = own;
      write_distance(i);
      s.open[still] = at;
      open[still] = open[i];
      s.labels[still] = s.labels[i];
      s.values[still] = s.values[i];
      s.inverse[still] = s.inverse[i];
      still += own < std::max(rows.lower[at], gap) ? 0 : 1;
    }
    left = still;
    open.resize(left);
  }

  // Then a search.
  AssignCount count;
  count.searched = static_cast<std::int64_t>(left);
  count.compared = k.find_nearest(centers.dense, open, s.kernel,
                                  {s.labels.data(), s.values.data(), s.others.data()});
  for (std::size_t i = 0; i < left; ++i) {
    const std::int32_t at = s.open[i];
    if (known && s.labels[i] != rows.labels[at]) s.moved.push_back({at, rows.labels[at]});
    rows.labels[at] = s.labels[i];
    write_distance(i);
    if (!bounded) continue;
    rows.upper[at] = upper_bound(centers.metric, s.values[i], s.inverse[i]);
    rows.lower[at] = rough_length(centers.metric, s.others[i], s.inverse[i]) * (1 - kSlack);
  }
  return count;
}

template <class T>
AssignCount assign_sparse(const data::Sparse<T>& x, const Prepared& centers, const AssignRows& rows,
                          AssignScratch& s) {
  s.scores.resize(static_cast<std::size_t>(centers.K));
  s.moved.clear();
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    const auto row = x.row(rows.ids[i]);
    sparse_scores<T>(centers.sparse, row, s.scores.data());
    const auto best = std::max_element(s.scores.begin(), s.scores.end());
    const auto label = static_cast<std::int32_t>(best - s.scores.begin());
    if (rows.labels[i] >= 0 && rows.labels[i] != label) {
      s.moved.push_back({static_cast<std::int32_t>(i), rows.labels[i]});
    }
    rows.labels[i] = label;
    if (rows.distances == nullptr) continue;
    double distance;
    if (centers.metric == Metric::kCosine) {
      distance = 1 - *best * inverse_length<T>(row);
    } else {
      double norm2 = 0;
      for (const T v : row.values) norm2 += static_cast<double>(v) * static_cast<double>(v);
      distance = std::max(0.0, norm2 - 2 * *best);
    }
    rows.distances[i] = distance;
  }
  return {static_cast<std::int64_t>(rows.ids.size()), 0};
}

// Up to `most` rows of `ranges`, evenly apart.
std::vector<std::int64_t> sample_of(std::span<const data::RowRange> ranges, std::int64_t most) {
  std::int64_t rows = 0;
  for (const data::RowRange& range : ranges) rows += range.end - range.begin;
  const std::int64_t step = std::max<std::int64_t>(1, rows / most);
  std::vector<std::int64_t> ids;
  std::int64_t passed = 0;
  for (const data::RowRange& range : ranges) {
    const std::int64_t size = range.end - range.begin;
    for (std::int64_t at = (step - passed % step) % step; at < size; at += step) {
      if (static_cast<std::int64_t>(ids.size()) < most) ids.push_back(range.begin + at);
    }
    passed += size;
  }
  return ids;
}

}  // namespace

Spread measure_spread(const data::Matrix& x, std::span<const data::RowRange> rows, bool release) {
  return std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        Spread spread;
        if constexpr (!data::kIsSparse<M>) {
          const auto D = static_cast<std::size_t>(m.cols);
          const std::vector<std::int64_t> ids = sample_of(rows, 1024);
          const auto sampled = static_cast<std::int64_t>(ids.size());
          std::vector<double> mean(D, 0.0);
          spread.shift.resize(D);
          spread.range = 1;
          if (sampled == 0) return spread;
          const auto sample = [&](std::int64_t i) {
            return m.row(ids[static_cast<std::size_t>(i)]);
          };
          const auto leave = [&](std::int64_t i) {
            const std::int64_t row = ids[static_cast<std::size_t>(i)];
            if (release) data::release_rows(x, {row, row + 1});
          };
          for (std::int64_t i = 0; i < sampled; ++i) {
            const auto row = sample(i);
            for (std::size_t j = 0; j < D; ++j) mean[j] += static_cast<double>(row[j]);
            leave(i);
          }
          for (std::size_t j = 0; j < D; ++j) {
            spread.shift[j] = static_cast<float>(mean[j] / static_cast<double>(sampled));
          }
          double largest = 0, sum2 = 0;
          for (std::int64_t i = 0; i < sampled; ++i) {
            const auto row = sample(i);
            for (std::size_t j = 0; j < D; ++j) {
              const double off = static_cast<double>(row[j]) - double{spread.shift[j]};
              largest = std::max(largest, std::abs(off));
              sum2 += off * off;
            }
            leave(i);
          }
          // Rare outliers are clipped, which costs them exact comparisons; all others gain
          // precision.
          const double deviation = std::sqrt(sum2 / static_cast<double>(sampled * m.cols));
          spread.range = static_cast<float>(std::min(largest, 8 * deviation));
        }
        return spread;
      },
      x);
}

Screen fastest_screen() { return base::simd_has_vnni() ? Screen::kInt8 : Screen::kFloat32; }

Prepared prepare(const data::Matrix& x, Metric metric, std::span<const double> centers,
                 std::int64_t K, const Spread& spread, Screen wanted) {
  Prepared prepared;
  prepared.metric = metric;
  prepared.K = K;
  prepared.D = data::cols(x);
  const bool sparse = data::is_sparse(x);
  if (sparse) prepared.sparse = prepare_sparse(metric, centers, K, prepared.D);
  if (!sparse) prepared.dense = prepare(metric, centers, K, prepared.D, spread, wanted);
  return prepared;
}

AssignCount assign(const data::Matrix& x, const Prepared& centers, const Drift* drift,
                   const AssignRows& rows, AssignScratch& scratch) {
  return std::visit(
      [&](const auto& m) {
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          return assign_sparse(m, centers, rows, scratch);
        } else {
          return assign_dense(m, centers, drift, rows, scratch);
        }
      },
      x);
}

void all_distances(const data::Matrix& x, const Prepared& centers, Ids ids, AssignScratch& s,
                   double* all) {
  const bool cosine = centers.metric == Metric::kCosine;
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        using T = typename M::Value;
        if constexpr (data::kIsSparse<M>) {
          for (const std::int64_t id : ids) {
            const auto row = m.row(id);
            sparse_scores<T>(centers.sparse, row, all);
            double norm2 = 0;
            for (const T v : row.values) norm2 += static_cast<double>(v) * static_cast<double>(v);
            const double inverse = cosine ? inverse_length<T>(row) : 0;
            for (std::int64_t k = 0; k < centers.K; ++k) {
              all[k] = cosine ? 1 - all[k] * inverse : std::max(0.0, norm2 - 2 * all[k]);
            }
            all += centers.K;
          }
        } else {
          const std::vector<const T*> rows = row_pointers(m, ids);
          kernels<T>().values_of_all(centers.dense, rows, all);
          if (!cosine) return;
          s.inverse.resize(rows.size());
          kernels<T>().inverse_lengths(rows, centers.D, s.inverse.data());
          for (const double inverse : s.inverse) {
            for (std::int64_t k = 0; k < centers.K; ++k, ++all) *all = 1 + inverse * *all;
          }
        }
      },
      x);
}

void nearer_distances(const data::Matrix& x, const Prepared& centers, Ids ids, const double* bounds,
                      AssignScratch& s, double* all) {
  const auto screened = [&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    using T = typename M::Value;
    if constexpr (data::kIsSparse<M>) {
      return false;
    } else {
      if (centers.metric == Metric::kCosine) return false;  // bounds are not values there
      kernels<T>().values_below(centers.dense, row_pointers(m, ids), bounds, s.kernel, all);
      return true;
    }
  };
  if (std::visit(screened, x)) return;
  all_distances(x, centers, ids, s, all);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::int64_t k = 0; k < centers.K; ++k, ++all) *all = std::min(*all, bounds[i]);
  }
}

void copy_row(const data::Matrix& x, Metric metric, std::int64_t i, std::span<double> out) {
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        using T = typename M::Value;
        double inverse = 1;
        if constexpr (data::kIsSparse<M>) {
          const auto row = m.row(i);
          std::fill(out.begin(), out.end(), 0.0);
          for (std::size_t e = 0; e < row.columns.size(); ++e) {
            out[static_cast<std::size_t>(row.columns[e])] = static_cast<double>(row.values[e]);
          }
          if (metric == Metric::kCosine) inverse = inverse_length<T>(row);
        } else {
          const T* row = m.values + i * m.cols;
          std::copy_n(row, m.cols, out.begin());
          if (metric == Metric::kCosine) kernels<T>().inverse_lengths({&row, 1}, m.cols, &inverse);
        }
        if (metric == Metric::kCosine) {
          for (double& value : out) value *= inverse;
        }
      },
      x);
}

}  // namespace meanwhile::learn::kmeans
