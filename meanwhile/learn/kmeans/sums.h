// Sums of rows by cluster in exact arithmetic, so that a sum patched by the rows that moved is the
// same to the last bit as one made afresh, on any worker and in any order.
//
// Each value is rounded once, to a grid fine enough that the sum of all rows of the shard fits in a
// 64-bit integer; from there on nothing is rounded. The grid is a function of the rows alone: about
// a row m, with a step by column of 2^-47 or so of the largest |x_j - m_j|.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/kmeans/assign.h"

namespace meanwhile::learn::kmeans {

struct Grid {
  std::vector<double> shift;  // m; zeros for sparse rows and under cosine
  std::vector<double> scale;  // by column: 1 / step, a power of two
  double weight_scale = 1;    // of weights
  double norm_scale = 1;      // of weight * |x - m|^2
};

// Finds the grid for some rows by looking at all of them, in blocks.
class GridMeasure {
 public:
  GridMeasure(const data::Dataset& data, Metric metric) : data_(data), metric_(metric) {}
  void add(Ids ids);
  Grid finish() const;

 private:
  const data::Dataset& data_;
  Metric metric_;
  std::int64_t rows_ = 0;
  std::vector<double> shift_, reach_;
  double weight_ = 0;
};

// Integers on the grid: K x D sums of weight * (x - m), K weights, K of weight * |x - m|^2. Under
// cosine rows are of unit length, rows of zeros add nothing but weight, and the last are not used.
struct ClusterSums {
  std::vector<std::int64_t> weights, norms;
  std::vector<double> cells;  // the sums: bits of int64 in storage of doubles, see below

  void restart(std::int64_t K, std::int64_t D);
};

// Takes the rows from clusters `from` (null: they were in none) to clusters `to`. `cells` is where
// the K x D sums are: those of `sums`, or the part of an update that they will be turned into, so
// that there is no second copy of what may be large.
void move_rows(const data::Dataset& data, Metric metric, const Grid& grid, Ids ids,
               const std::int32_t* from, const std::int32_t* to, AssignScratch& scratch,
               ClusterSums& sums, std::span<double> cells);

// Sums as doubles: out[k * D + j] = sum of weight * x, which may be `cells` itself; weights[k]; and
// the inertia of each cluster about its centre (K x D), from the sums: it is off by about 1e-16 of
// the spread of all rows of the cluster about m.
void read_sums(Metric metric, std::span<const double> centers, const Grid& grid,
               const ClusterSums& sums, std::span<const double> cells, std::span<double> out,
               std::span<double> weights, std::span<double> inertias);

}  // namespace meanwhile::learn::kmeans
