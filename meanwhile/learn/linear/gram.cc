// Coordinate descent on a Gram matrix: returns the weights of a block.
//
// A coordinate costs one look at its slope, and a column of the matrix when it moves. Most of a
// block stays at zero: sweeps over the whole block alternate with many over the weights that are
// not, whose part of the matrix is packed. These are accelerated by Anderson's extrapolation of K
// sweeps, which is taken where it lowers the objective; slopes are affine in the weights, so they
// are extrapolated with them. After each packed stretch all slopes are computed afresh.
//
// Bertrand and Massias, "Anderson acceleration of coordinate descent" (2021)
#include "meanwhile/learn/linear/gram.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace meanwhile::learn::linear {

void Gram::grow(std::size_t more) {
  const std::size_t size = size_ + more;
  if (size > stride_) {
    const std::size_t stride = std::max(size, stride_ + stride_ / 2);
    std::vector<double> values(stride * stride);
    for (std::size_t i = 0; i < size_; ++i) {
      std::copy_n(row(i), size_, values.data() + i * stride);
    }
    values_ = std::move(values);
    stride_ = stride;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t begin = i < size_ ? size_ : 0;
    std::fill(values_.begin() + static_cast<std::ptrdiff_t>(i * stride_ + begin),
              values_.begin() + static_cast<std::ptrdiff_t>(i * stride_ + size), 0.0);
  }
  size_ = size;
}

void Gram::keep(std::span<const std::size_t> positions) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (std::size_t j = 0; j < positions.size(); ++j) {
      values_[i * stride_ + j] = values_[positions[i] * stride_ + positions[j]];
    }
  }
  size_ = positions.size();
}

namespace {

constexpr std::size_t kHistory = 5;  // sweeps that are extrapolated
constexpr double kConstant = 1e-12;  // of a column's square: less is left by rounding
constexpr int kStretches = 50;       // of packed sweeps
constexpr double kPackedPart = 0.3;  // of the violation before: a packed stretch ends there

double soft_threshold(double x, double t) { return x > t ? x - t : x < -t ? x + t : 0.0; }

double violation_of(double w, double slope, double l1) {
  if (w > 0) return std::abs(slope + l1);
  if (w < 0) return std::abs(slope - l1);
  return std::max(0.0, std::abs(slope) - l1);
}

// Weights with what a sweep over them needs; the matrix is dense, row i at i * stride.
struct Sweeps {
  const double* matrix = nullptr;
  std::size_t size = 0, stride = 0;
  std::vector<double> own, l1, l2, w, q;  // q: slopes, without l2

  // Returns the largest violation that a coordinate met.
  double sweep() {
    double largest = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (own[j] <= 0) continue;
      const double before = w[j], curvature = own[j] + l2[j];
      const double after = soft_threshold(own[j] * before - q[j], l1[j]) / curvature;
      const double move = after - before;
      if (move == 0) continue;
      largest = std::max(largest, std::abs(move) * curvature);
      w[j] = after;
      const double* column = matrix + j * stride;
      for (std::size_t i = 0; i < size; ++i) q[i] += move * column[i];
    }
    return largest;
  }
};

// The part of a matrix where weights are not zero, the intercept eliminated.
class Packed {
 public:
  Packed(const BlockProblem& problem, std::span<const double> own, std::span<const double> w,
         std::span<const double> q) {
    for (std::size_t j = 0; j < w.size(); ++j) {
      if (w[j] != 0 && own[j] > 0) positions_.push_back(j);
    }
    const std::size_t n = positions_.size();
    matrix_.resize(n * n);
    for (std::size_t a = 0; a < n; ++a) {
      const std::size_t i = positions_[a];
      const double* row = problem.gram.row(i);
      const double u = problem.has_intercept() ? problem.cross[i] / problem.own : 0;
      double* to = matrix_.data() + a * n;
      for (std::size_t b = 0; b < n; ++b) to[b] = row[positions_[b]];
      if (u != 0) {
        for (std::size_t b = 0; b < n; ++b) to[b] -= u * problem.cross[positions_[b]];
      }
      to[a] = own[i];
      sweeps_.own.push_back(own[i]);
      sweeps_.l1.push_back(problem.l1[i]);
      sweeps_.l2.push_back(problem.l2[i]);
      sweeps_.w.push_back(w[i]);
      sweeps_.q.push_back(q[i]);
    }
    sweeps_.matrix = matrix_.data();
    sweeps_.size = sweeps_.stride = n;
    w_at_start_ = sweeps_.w, q_at_start_ = sweeps_.q;
  }

  // Sweeps until no violation is above `tolerance`; returns how many.
  int run(double tolerance, int most) {
    const std::size_t n = sweeps_.size;
    remember(0);
    std::size_t known = 1;
    for (int epoch = 1; epoch <= most; ++epoch) {
      const double violation = sweeps_.sweep();
      if (violation <= tolerance) return epoch;
      if (n == 0) return epoch;
      remember(known++);
      if (known > kHistory) {
        extrapolate();
        remember(0);
        known = 1;
      }
    }
    return most;
  }

  void put_back(std::vector<double>& w) const {
    for (std::size_t a = 0; a < positions_.size(); ++a) w[positions_[a]] = sweeps_.w[a];
  }

 private:
  void remember(std::size_t k) { ws_[k] = sweeps_.w, qs_[k] = sweeps_.q; }

  // From where the stretch began.
  double objective(std::span<const double> w, std::span<const double> q) const {
    double value = 0;
    for (std::size_t a = 0; a < w.size(); ++a) {
      value += 0.5 * (w[a] - w_at_start_[a]) * (q[a] + q_at_start_[a]) +
               sweeps_.l1[a] * std::abs(w[a]) + 0.5 * sweeps_.l2[a] * w[a] * w[a];
    }
    return value;
  }

  void extrapolate() {
    const std::size_t n = sweeps_.size;
    std::array<std::array<double, kHistory>, kHistory> products{};
    double trace = 0;
    for (std::size_t a = 0; a < kHistory; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          sum += (ws_[a + 1][i] - ws_[a][i]) * (ws_[b + 1][i] - ws_[b][i]);
        }
        products[a][b] = products[b][a] = sum;
      }
      trace += products[a][a];
    }
    std::array<double, kHistory> c{};
    c.fill(1);
    for (std::size_t a = 0; a < kHistory; ++a) products[a][a] += 1e-12 * trace;
    if (!solve(products, c)) return;
    double total = 0;
    for (const double x : c) total += x;
    if (!(std::abs(total) > 0) || !std::isfinite(total)) return;
    std::vector<double> w(n), q(n);
    for (std::size_t k = 0; k < kHistory; ++k) {
      const double part = c[k] / total;
      for (std::size_t i = 0; i < n; ++i) {
        w[i] += part * ws_[k + 1][i];
        q[i] += part * qs_[k + 1][i];
      }
    }
    if (objective(w, q) < objective(sweeps_.w, sweeps_.q)) {
      sweeps_.w = std::move(w);
      sweeps_.q = std::move(q);
    }
  }

  // By Gauss, of a matrix that is positive definite. False: it is not, to rounding.
  static bool solve(std::array<std::array<double, kHistory>, kHistory>& m,
                    std::array<double, kHistory>& x) {
    for (std::size_t a = 0; a < kHistory; ++a) {
      if (!(m[a][a] > 0)) return false;
      for (std::size_t b = a + 1; b < kHistory; ++b) {
        const double factor = m[b][a] / m[a][a];
        for (std::size_t k = a; k < kHistory; ++k) m[b][k] -= factor * m[a][k];
        x[b] -= factor * x[a];
      }
    }
    for (std::size_t a = kHistory; a-- > 0;) {
      for (std::size_t b = a + 1; b < kHistory; ++b) x[a] -= m[a][b] * x[b];
      x[a] /= m[a][a];
    }
    return true;
  }

  std::vector<std::size_t> positions_;
  std::vector<double> matrix_, w_at_start_, q_at_start_;
  Sweeps sweeps_;
  std::array<std::vector<double>, kHistory + 1> ws_, qs_;
};

// The whole block: slopes at any weights, and a sweep over all of it.
class Block {
 public:
  explicit Block(const BlockProblem& problem)
      : p_(problem), size_(problem.gram.size()), w_(problem.start.begin(), problem.start.end()) {
    own_.resize(size_);
    for (std::size_t j = 0; j < size_; ++j) {
      const double square = p_.gram.at(j, j);
      own_[j] = square - (p_.has_intercept() ? p_.cross[j] * p_.cross[j] / p_.own : 0);
      if (!(own_[j] > kConstant * square)) own_[j] = 0;
    }
    refresh();
  }

  // Slopes at w, the intercept eliminated.
  void refresh() {
    q_.assign(p_.slopes.begin(), p_.slopes.end());
    along_ = 0;
    for (std::size_t j = 0; j < size_; ++j) {
      const double move = w_[j] - p_.start[j];
      if (move != 0) add(j, move);
    }
  }

  double slope(std::size_t j) const {
    return p_.has_intercept() ? q_[j] - p_.cross[j] * ((p_.slope + along_) / p_.own) : q_[j];
  }
  double violation() const {
    double largest = 0;
    for (std::size_t j = 0; j < size_; ++j) {
      if (own_[j] <= 0) continue;
      largest = std::max(largest, violation_of(w_[j], slope(j) + p_.l2[j] * w_[j], p_.l1[j]));
    }
    return largest;
  }

  void sweep() {
    for (std::size_t j = 0; j < size_; ++j) {
      if (own_[j] <= 0) continue;
      const double after =
          soft_threshold(own_[j] * w_[j] - slope(j), p_.l1[j]) / (own_[j] + p_.l2[j]);
      const double move = after - w_[j];
      if (move == 0) continue;
      w_[j] = after;
      add(j, move);
    }
  }

  int run_packed(double tolerance, int most) {
    std::vector<double> slopes(size_);
    for (std::size_t j = 0; j < size_; ++j) slopes[j] = slope(j);
    Packed packed(p_, own_, w_, slopes);
    const int epochs = packed.run(tolerance, most);
    packed.put_back(w_);
    refresh();
    return epochs;
  }

  // How far the value of the problem is below that at the start.
  double decrease() const {
    double value = 0;
    const double first = p_.has_intercept() ? p_.slope / p_.own : 0;
    for (std::size_t j = 0; j < size_; ++j) {
      const double begin = p_.has_intercept() ? p_.slopes[j] - p_.cross[j] * first : p_.slopes[j];
      value += 0.5 * (w_[j] - p_.start[j]) * (begin + slope(j)) +
               p_.l1[j] * (std::abs(w_[j]) - std::abs(p_.start[j])) +
               0.5 * p_.l2[j] * (w_[j] * w_[j] - p_.start[j] * p_.start[j]);
    }
    return (p_.has_intercept() ? 0.5 * p_.slope * first : 0) - value;
  }

  double intercept_move() const { return p_.has_intercept() ? -(p_.slope + along_) / p_.own : 0; }
  std::vector<double> take() { return std::move(w_); }

 private:
  void add(std::size_t j, double move) {
    const double* column = p_.gram.row(j);
    for (std::size_t i = 0; i < size_; ++i) q_[i] += move * column[i];
    if (p_.has_intercept()) along_ += move * p_.cross[j];
  }

  const BlockProblem& p_;
  const std::size_t size_;
  std::vector<double> own_, w_, q_;  // q_: slopes where the intercept stays as it is
  double along_ = 0;                 // cross' (w - v)
};

}  // namespace

BlockSolution solve_block(const BlockProblem& problem, double tolerance, int most_epochs) {
  Block block(problem);
  BlockSolution solution;
  solution.violation = block.violation();
  for (int stretch = 0; stretch < kStretches && solution.violation > tolerance; ++stretch) {
    if (solution.epochs >= most_epochs) break;
    block.sweep();
    ++solution.epochs;
    const double packed =
        std::max(0.5 * tolerance, stretch == 0 ? kPackedPart * solution.violation : 0.0);
    solution.epochs += block.run_packed(packed, most_epochs - solution.epochs);
    solution.violation = block.violation();
  }
  solution.decrease = block.decrease();
  solution.intercept_move = block.intercept_move();
  solution.w = block.take();
  return solution;
}

}  // namespace meanwhile::learn::linear
