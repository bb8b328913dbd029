// A sum of doubles as if it were exact and rounded once: the same for every order of its terms.
// The partial sums are Shewchuk's (Adaptive Precision Floating-Point Arithmetic, 1997), the last
// rounding is that of Python's math.fsum.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace meanwhile::data {

class ExactSum {
 public:
  // REQUIRES: `term` is finite.
  void add(double term) {
    std::size_t kept = 0;
    for (double partial : partials_) {
      if (std::abs(term) < std::abs(partial)) std::swap(term, partial);
      const double high = term + partial;
      const double low = partial - (high - term);
      if (low != 0) partials_[kept++] = low;
      term = high;
    }
    partials_.resize(kept);
    partials_.push_back(term);
  }
  // Not finite where the sum is larger than a double can be.
  double rounded() const {
    if (partials_.empty()) return 0;
    std::size_t i = partials_.size() - 1;
    double high = partials_[i], low = 0;
    while (i > 0 && low == 0) {
      const double before = high, partial = partials_[--i];
      high = before + partial;
      low = partial - (high - before);
    }
    // Half way between two doubles, what is below decides.
    if (i > 0 && low != 0 && (low < 0) == (partials_[i - 1] < 0)) {
      const double up = high + 2 * low;
      if (up - high == 2 * low) high = up;
    }
    return high;
  }

 private:
  std::vector<double> partials_;  // of rising size, without common bits; the sum is theirs
};

}  // namespace meanwhile::data
