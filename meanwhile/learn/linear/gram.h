// The Gram matrix of some columns, and the problem that it makes of their weights:
//
//   minimise over w   (w - v)' G (w - v) / 2 + g' (w - v) + sum of l1_j |w_j| + l2_j / 2 w_j^2
//
// with v where the gradient g was taken. For squared loss it is the objective; for other losses,
// with rows weighted by their second derivatives, its model near v. An intercept is eliminated: it
// is the best one for every w, which makes columns as good as centred.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::learn::linear {

// Symmetric, both halves held.
class Gram {
 public:
  std::size_t size() const { return size_; }
  double at(std::size_t i, std::size_t j) const { return values_[i * stride_ + j]; }
  const double* row(std::size_t i) const { return values_.data() + i * stride_; }
  void set(std::size_t i, std::size_t j, double value) {
    values_[i * stride_ + j] = values_[j * stride_ + i] = value;
  }
  // Appends `more` columns, of zeros.
  void grow(std::size_t more);
  // Keeps these columns, ascending positions, and drops the others.
  void keep(std::span<const std::size_t> positions);
  void clear() { size_ = 0; }

 private:
  std::size_t size_ = 0, stride_ = 0;
  std::vector<double> values_;
};

// The products that shards send: those of `fresh` new columns with `known` columns before them, and
// with each other. New column a has known + a + 1 numbers, from here on.
inline std::size_t packed_row(std::size_t known, std::size_t a) {
  return a * known + a * (a + 1) / 2;
}
inline std::size_t packed_size(std::size_t known, std::size_t fresh) {
  return packed_row(known, fresh);
}

// Borrowed.
struct BlockProblem {
  const Gram& gram;
  std::span<const double> slopes;  // g
  std::span<const double> start;   // v
  std::span<const double> l1, l2;
  // Sums of the intercept, where there is one: its products with the columns, its second
  // derivative and its slope.
  bool intercept = false;
  std::span<const double> cross = {};
  double own = 0, slope = 0;

  // Whether it can move.
  bool has_intercept() const { return intercept && own > 0; }
};

struct BlockSolution {
  std::vector<double> w;
  double intercept_move = 0;
  double decrease = 0;   // of the problem's value, from v
  double violation = 0;  // the largest of a subgradient that should be zero
  int epochs = 0;
};

// Coordinate descent until no violation is above `tolerance`, or `most_epochs` are done. A column
// whose own product is 0, or is but rounding when centred, keeps its weight.
BlockSolution solve_block(const BlockProblem& problem, double tolerance, int most_epochs);

}  // namespace meanwhile::learn::linear
