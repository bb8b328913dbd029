// The steps of SGD, by kind of row and of rate: what a row's slopes do to the weights. Each has
// prefetch(row), margins(row, z), learn(row, slopes, rate) and a finish().
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/linear/rows.h"
#include "meanwhile/learn/linear/sgd.h"

namespace meanwhile::learn::linear {

inline constexpr double kSmallestScale = 1e-5;

inline double soft(double w, double threshold) {
  if (w > threshold) return w - threshold;
  return w < -threshold ? w + threshold : 0;
}

template <class R>
std::size_t column(const R& row, std::size_t k) {
  return row.columns ? static_cast<std::size_t>(row.columns[k]) : k;
}

// w = c u. Of the mean of all weights passed so far, sum = A u + rest: when u moves by d, rest
// moves by -A d, so that steps before count with the weights they had.
class OneRate {
 public:
  OneRate(const Problem& problem, const SgdOptions& options, std::span<double> u)
      : C_(problem.outputs),
        options_(options),
        u_(u.first(problem.intercepts())),
        b_(u.subspan(problem.intercepts())),
        intercept_(problem.intercept) {
    if (options.average) {
      rest_.resize(u_.size());
      b_sum_.resize(C_);
    }
    if (options.l1 > 0) paid_.resize(u_.size());
  }

  template <class R>
  void prefetch(const R& row) const {
    prefetch_weights(row, u_.data(), C_);
  }

  template <class R>
  void margins(const R& row, std::span<double> z) const {
    if (C_ == 1) {
      z[0] = c_ * dot(row, u_.data()) + b_[0];
      return;
    }
    std::fill(z.begin(), z.end(), 0.0);
    dot(row, u_.data(), C_, z.data());
    for (std::size_t c = 0; c < C_; ++c) z[c] = c_ * z[c] + b_[c];
  }

  template <class R>
  void learn(const R& row, std::span<double> slopes, double rate) {
    const double shrink = 1 - rate * options_.l2;
    const bool any = std::any_of(slopes.begin(), slopes.end(), [](double s) { return s != 0; });
    if (any) {
      for (std::size_t c = 0; c < C_; ++c) {
        if (intercept_) b_[c] -= rate * slopes[c];
        slopes[c] *= -rate / (shrink * c_);
      }
      move(row, slopes, 1, u_);
      if (options_.average) move(row, slopes, -A_, rest_);
    }
    c_ *= shrink;
    if (options_.l1 > 0) {
      owed_ += rate * options_.l1;
      for (std::size_t k = 0; k < row.size; ++k) {
        for (std::size_t c = 0; c < C_; ++c) pay(column(row, k) * C_ + c);
      }
    }
    if (options_.average) {
      A_ += c_;
      for (std::size_t c = 0; c < C_; ++c) b_sum_[c] += b_[c];
    }
    if (c_ < kSmallestScale) fold();
  }

  // Returns what a weight was multiplied with that no row touched.
  double finish(double rows) {
    if (options_.l1 > 0) {
      for (std::size_t i = 0; i < u_.size(); ++i) pay(i);
    }
    if (!options_.average || rows == 0) {
      fold();
      return folded_;
    }
    const double mean = A_ / rows;
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] = u_[i] * mean + rest_[i] / rows;
    for (std::size_t c = 0; c < C_; ++c) b_[c] = b_sum_[c] / rows;
    return folded_ * mean;
  }

 private:
  template <class R>
  void move(const R& row, std::span<double> by, double times, std::span<double> to) const {
    if (C_ == 1) return add(row, by[0] * times, to.data());
    for (std::size_t k = 0; k < row.size; ++k) {
      const double x = static_cast<double>(row.values[k]) * times;
      double* at = to.data() + column(row, k) * C_;
      for (std::size_t c = 0; c < C_; ++c) at[c] += x * by[c];
    }
  }
  // Takes from weight i what it owes to the L1 penalty, but not beyond zero.
  void pay(std::size_t i) {
    const double before = c_ * u_[i];
    double after = before;
    if (before > 0) after = std::max(0.0, before - (owed_ + paid_[i]));
    if (before < 0) after = std::min(0.0, before + (owed_ - paid_[i]));
    paid_[i] += after - before;
    if (after == before) return;
    if (options_.average) rest_[i] -= A_ * (after / c_ - u_[i]);
    u_[i] = after / c_;
  }
  void fold() {
    for (double& value : u_) value *= c_;
    A_ /= c_;
    folded_ *= c_;
    c_ = 1;
  }

  const std::size_t C_;
  const SgdOptions& options_;
  const std::span<double> u_, b_;
  const bool intercept_;
  double c_ = 1, A_ = 0;
  double folded_ = 1;         // the c of before that are in u by now
  double owed_ = 0;           // by a weight that paid nothing
  std::vector<double> paid_;  // by weight, signed
  std::vector<double> rest_, b_sum_;
};

// Sixteen bytes a weight, so that all that a touch needs is in one line of memory.
struct Cell {
  double w;
  float squares;
  std::uint32_t last;  // row of the pass that touched it
};

class RateEach {
 public:
  RateEach(const Problem& problem, const SgdOptions& options, std::span<const double> v,
           std::span<const double> squares)
      : C_(problem.outputs),
        options_(options),
        intercept_(problem.intercept),
        start_(v),
        cells_(v.size()) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      cells_[i] = {v[i], static_cast<float>(squares[i]), 0};
    }
    if (options.average) sums_.resize(v.size());
  }

  template <class R>
  void prefetch(const R& row) const {
    prefetch_weights(row, cells_.data(), C_);
  }

  template <class R>
  void margins(const R& row, std::span<double> z) {
    ++t_;
    const Cell* b = cells_.data() + cells_.size() - C_;
    for (std::size_t c = 0; c < C_; ++c) z[c] = b[c].w;
    for (std::size_t k = 0; k < row.size; ++k) {
      Cell* at = cells_.data() + column(row, k) * C_;
      const double x = static_cast<double>(row.values[k]);
      for (std::size_t c = 0; c < C_; ++c) {
        catch_up(at[c]);
        z[c] += x * at[c].w;
      }
    }
  }

  template <class R>
  void learn(const R& row, std::span<double> slopes, double rate) {
    for (std::size_t k = 0; k < row.size; ++k) {
      Cell* at = cells_.data() + column(row, k) * C_;
      for (std::size_t c = 0; c < C_; ++c) {
        step(at[c], slopes[c] * static_cast<double>(row.values[k]), rate);
      }
    }
    if (!intercept_) return;
    Cell* b = cells_.data() + cells_.size() - C_;
    for (std::size_t c = 0; c < C_; ++c) {
      account(b[c]);
      b[c].last = t_;
      step(b[c], slopes[c], rate);
    }
  }

  void finish(SgdResult& result) {
    const std::size_t size = cells_.size();
    result.v.resize(size);
    result.squares.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      Cell& cell = cells_[i];
      result.squares[i] = static_cast<double>(cell.squares);
      const bool touched = cell.last != 0;
      if (options_.average && touched) {
        // The sum is of the weights before each row: the mean is of those after.
        account(cell);
        result.v[i] = (sums_[i] - start_[i] + cell.w) / static_cast<double>(t_);
        continue;
      }
      if (touched && i + C_ < size) catch_up(cell);
      result.v[i] = cell.w;
    }
  }

 private:
  double rate_of(const Cell& cell, double rate) const {
    return rate / std::sqrt(static_cast<double>(cell.squares) + 1e-12);
  }
  // The penalties of the rows since the last touch, all at the rate of then.
  void catch_up(Cell& cell) {
    account(cell);
    const auto rows = static_cast<double>(t_ - cell.last);
    cell.last = t_;
    if (cell.w == 0 || rows == 0 || cell.squares == 0) return;
    const double rate = rate_of(cell, options_.rate) * rows;
    cell.w = soft(cell.w, rate * options_.l1) / (1 + rate * options_.l2);
  }
  void account(const Cell& cell) {
    if (!options_.average) return;
    sums_[static_cast<std::size_t>(&cell - cells_.data())] +=
        cell.w * static_cast<double>(t_ - cell.last);
  }
  void step(Cell& cell, double slope, double rate) {
    if (slope == 0) return;
    cell.squares += static_cast<float>(slope * slope);
    cell.w -= rate_of(cell, rate) * slope;
  }

  const std::size_t C_;
  const SgdOptions& options_;
  const bool intercept_;
  const std::span<const double> start_;
  std::vector<Cell> cells_;  // the intercepts last
  std::vector<double> sums_;
  std::uint32_t t_ = 0;
};

// Every weight at every row.
class DenseRate {
 public:
  DenseRate(const Problem& problem, const Coordinates& coordinates, const SgdOptions& options,
            SgdResult& result)
      : C_(problem.outputs),
        options_(options),
        penalty_(coordinates.penalty),
        intercept_(problem.intercept),
        result_(result) {
    if (options.average) sums_.resize(result.v.size());
  }

  template <class R>
  void prefetch(const R&) const {}

  template <class R>
  void margins(const R& row, std::span<double> z) const {
    const double* b = result_.v.data() + result_.v.size() - C_;
    if (C_ == 1) {
      z[0] = dot(row, result_.v.data()) + b[0];
      return;
    }
    std::copy_n(b, C_, z.data());
    dot(row, result_.v.data(), C_, z.data());
  }

  template <class R>
  void learn(const R& row, std::span<double> slopes, double rate) {
    for (std::size_t j = 0; j < row.size; ++j) {
      const double penalty = penalty_.empty() ? 1 : penalty_[j];
      const double l1 = options_.l1 * penalty, l2 = options_.l2 * penalty * penalty;
      for (std::size_t c = 0; c < C_; ++c) {
        step(j * C_ + c, slopes[c] * row.values[j], l1, l2, rate);
      }
    }
    if (intercept_) {
      for (std::size_t c = 0; c < C_; ++c) step(row.size * C_ + c, slopes[c], 0, 0, rate);
    }
    if (!options_.average) return;
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += result_.v[i];
  }

  void finish() {
    if (!options_.average || result_.rows == 0) return;
    for (std::size_t i = 0; i < sums_.size(); ++i) result_.v[i] = sums_[i] / result_.rows;
  }

 private:
  void step(std::size_t i, double slope, double l1, double l2, double rate) {
    double& w = result_.v[i];
    if (options_.adaptive) {
      result_.squares[i] += slope * slope;
      rate /= std::sqrt(result_.squares[i] + 1e-12);
    }
    // Shrunk by the weight to come, not the one before: columns of small scale have penalties so
    // large that the latter would overshoot.
    w = soft(w - rate * slope, rate * l1) / (1 + rate * l2);
  }

  const std::size_t C_;
  const SgdOptions& options_;
  const std::vector<double>& penalty_;
  const bool intercept_;
  SgdResult& result_;
  std::vector<double> sums_;
};

}  // namespace meanwhile::learn::linear
