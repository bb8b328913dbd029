// Rows drawn into parts, such as folds, or rows to test on: at random, on a seed, and so that every
// part has its share of every class.
#pragma once

#include <cstdint>
#include <vector>

namespace meanwhile::data {

// A part receives its share of each stratum to within one row, and of all rows to within one row
// for each stratum; which rows these are is drawn uniformly. A pure function of the arguments and
// the strata of the rows in their order, and needs no memory that grows with the rows.
class Strata {
 public:
  // `sizes`: rows of each stratum. `shares`: of each part. REQUIRES: shares are positive and add up
  // to 1.
  Strata(std::vector<std::int64_t> sizes, const std::vector<double>& shares, std::uint64_t seed);

  // Rows that part `part` receives.
  std::int64_t rows(int part) const { return rows_[static_cast<std::size_t>(part)]; }
  // Rows of a stratum that a part receives, as long as next() was not called.
  std::int64_t rows(std::size_t stratum, int part) const {
    return open_[stratum][static_cast<std::size_t>(part)];
  }

  // The part of the next row. REQUIRES: `stratum` has a row left.
  int next(std::size_t stratum);

 private:
  std::vector<std::int64_t> left_;               // rows of each stratum still to come
  std::vector<std::vector<std::int64_t>> open_;  // of each stratum, places left in each part
  std::vector<std::int64_t> rows_;
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace meanwhile::data
