#include "meanwhile/learn/kmeans/sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace meanwhile::learn::kmeans {

namespace {

double weight_of_row(const data::Dataset& data, std::int64_t i) {
  return data.weights.empty() ? 1.0 : data.weights[static_cast<std::size_t>(i)];
}

// A power of two that takes values up to `reach` to below 2^bits; 1 when there are none but zeros.
double scale_for(double reach, int bits) {
  if (!(reach > 0)) return 1;
  return std::ldexp(1.0, std::clamp(bits - 1 - std::ilogb(reach), -1000, 1000));
}

std::int64_t on_grid(double value, double scale) {
  return static_cast<std::int64_t>(std::llrint(value * scale));
}

template <class T>
double inverse_length(const typename data::Sparse<T>::Row& row) {
  double norm2 = 0;
  for (const T value : row.values) norm2 += static_cast<double>(value) * static_cast<double>(value);
  return norm2 > 0 ? 1 / std::sqrt(norm2) : 0.0;
}

}  // namespace

void GridMeasure::add(Ids ids) {
  for (const std::int64_t id : ids) weight_ = std::max(weight_, weight_of_row(data_, id));
  const auto D = static_cast<std::size_t>(data::cols(data_.x));
  if (rows_ == 0) {
    shift_.assign(D, 0.0);
    reach_.assign(D, metric_ == Metric::kCosine ? 1.0 : 0.0);
  }
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        using T = typename M::Value;
        if (metric_ == Metric::kCosine || ids.empty()) return;  // rows of unit length
        if constexpr (data::kIsSparse<M>) {
          for (const std::int64_t id : ids) {
            const auto row = m.row(id);
            for (std::size_t e = 0; e < row.columns.size(); ++e) {
              double& reach = reach_[static_cast<std::size_t>(row.columns[e])];
              reach = std::max(reach, std::abs(static_cast<double>(row.values[e])));
            }
          }
        } else {
          if (rows_ == 0) std::copy_n(m.values + ids[0] * m.cols, m.cols, shift_.begin());
          std::vector<const T*> rows;
          for (const std::int64_t id : ids) rows.push_back(m.values + id * m.cols);
          kernels<T>().measure(rows, shift_, reach_.data());
        }
      },
      data_.x);
  rows_ += static_cast<std::int64_t>(ids.size());
}

Grid GridMeasure::finish() const {
  // The sum of all rows stays below 2^62, and a single one below 2^50.
  const int bits =
      std::min(50, 62 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows_))));
  Grid grid;
  grid.shift = shift_;
  double norm2 = 0;
  for (const double reach : reach_) {
    grid.scale.push_back(scale_for(reach * weight_, bits));
    norm2 += reach * reach;
  }
  grid.weight_scale = data_.weights.empty() ? 1.0 : scale_for(weight_, bits);
  grid.norm_scale = scale_for(norm2 * weight_, bits);
  return grid;
}

void ClusterSums::restart(std::int64_t K, std::int64_t D) {
  weights.assign(static_cast<std::size_t>(K), 0);
  norms.assign(static_cast<std::size_t>(K), 0);
  cells.assign(static_cast<std::size_t>(K * D), 0.0);
}

void move_rows(const data::Dataset& data, Metric metric, const Grid& grid, Ids ids,
               const std::int32_t* from, const std::int32_t* to, AssignScratch& s,
               ClusterSums& sums, std::span<double> cells) {
  const bool cosine = metric == Metric::kCosine;
  s.values.assign(ids.size(), 0.0);  // |x - m|^2
  s.factors.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) s.factors[i] = weight_of_row(data, ids[i]);
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        using T = typename M::Value;
        if constexpr (data::kIsSparse<M>) {
          for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto row = m.row(ids[i]);
            const double factor = cosine ? s.factors[i] * inverse_length<T>(row) : s.factors[i];
            for (std::size_t e = 0; e < row.columns.size(); ++e) {
              const auto j = static_cast<std::size_t>(row.columns[e]);
              const auto value = static_cast<double>(row.values[e]);
              const std::int64_t whole = on_grid(factor * value, grid.scale[j]);
              const auto add = [&](std::int32_t k, std::int64_t by) {
                double& cell = cells[static_cast<std::size_t>(k * m.cols) + j];
                cell = std::bit_cast<double>(std::bit_cast<std::int64_t>(cell) + by);
              };
              if (from != nullptr) add(from[i], -whole);
              add(to[i], whole);
              s.values[i] += value * value;
            }
          }
        } else {
          std::vector<const T*> rows;
          for (const std::int64_t id : ids) rows.push_back(m.values + id * m.cols);
          const double* factors = data.weights.empty() ? nullptr : s.factors.data();
          if (cosine) {
            s.inverse.resize(ids.size());
            kernels<T>().inverse_lengths(rows, m.cols, s.inverse.data());
            for (std::size_t i = 0; i < ids.size(); ++i) s.inverse[i] *= s.factors[i];
            factors = s.inverse.data();
          }
          kernels<T>().move_rows(rows, grid.shift, grid.scale, factors, from, to, cells.data(),
                                 cosine ? nullptr : s.values.data());
        }
      },
      data.x);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t weight = on_grid(s.factors[i], grid.weight_scale);
    const std::int64_t norm = cosine ? 0 : on_grid(s.factors[i] * s.values[i], grid.norm_scale);
    if (from != nullptr) {
      sums.weights[static_cast<std::size_t>(from[i])] -= weight;
      sums.norms[static_cast<std::size_t>(from[i])] -= norm;
    }
    sums.weights[static_cast<std::size_t>(to[i])] += weight;
    sums.norms[static_cast<std::size_t>(to[i])] += norm;
  }
}

void read_sums(Metric metric, std::span<const double> centers, const Grid& grid,
               const ClusterSums& sums, std::span<const double> cells, std::span<double> out,
               std::span<double> weights, std::span<double> inertias) {
  const std::size_t D = grid.shift.size();
  std::vector<double> step(D);
  for (std::size_t j = 0; j < D; ++j) step[j] = 1 / grid.scale[j];
  for (std::size_t k = 0; k < sums.weights.size(); ++k) {
    const double weight = static_cast<double>(sums.weights[k]) / grid.weight_scale;
    const double* center = centers.data() + k * D;
    double dot = 0, norm2 = 0;  // of the centre about m, with the sum and with itself
    for (std::size_t j = 0; j < D; ++j) {
      const double sum =
          static_cast<double>(std::bit_cast<std::int64_t>(cells[k * D + j])) * step[j];
      const double about = center[j] - grid.shift[j];
      dot += about * sum;
      norm2 += about * about;
      out[k * D + j] = sum + weight * grid.shift[j];
    }
    weights[k] = weight;
    const double spread = static_cast<double>(sums.norms[k]) / grid.norm_scale;
    inertias[k] =
        metric == Metric::kCosine ? weight - dot : std::max(0.0, spread - 2 * dot + weight * norm2);
  }
}

}  // namespace meanwhile::learn::kmeans
