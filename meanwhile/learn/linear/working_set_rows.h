// The training rows of a shard as a working set sees them: passes that look at some columns alone.
//
// Every sum adds in the order of the rows, and of the columns within a row, and a column that is
// left out has a weight of 0. So a copy of the rows with fewer columns, which is a cache, gives
// the same bits as the rows themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "meanwhile/learn/linear/fit.h"
#include "meanwhile/learn/linear/stages.h"
#include "meanwhile/learn/linear/working_set_gap.h"

namespace meanwhile::learn::linear {

// Rows in compressed form, their columns numbered among those that were kept.
struct KeptRows {
  std::int64_t version = 0;  // of the numbering; 0: none was made
  std::vector<std::int64_t> row_start{0};
  std::vector<std::int32_t> columns;
  std::vector<float> narrow;  // the values, in the type of the data
  std::vector<double> wide;
  std::vector<double> labels, weights;
};

// How columns are numbered in a pass.
struct Numbering {
  std::int64_t version = 0;           // 0: as in the data
  std::vector<std::int32_t> columns;  // of the data, ascending; unless version is 0
  std::size_t size(const Fit& fit) const {
    return version == 0 ? static_cast<std::size_t>(fit.problem.cols) : columns.size();
  }
};

// Model that a pass reads, in the numbering, and its intercept.
struct Point {
  std::span<const double> w;
  double intercept = 0;
};

// Losses go to `tail`. `gradient`: `sides` numbers for each column of the numbering, added to.
struct GradientPass {
  Tail tail;
  DualSums dual;
  std::span<double> gradient;
  std::size_t sides = 1;
  double centre = 0;  // DualSums::add()
};
// `kept`: the cache of the shard.
void gradient_pass(const Fit& fit, int shard, const Numbering& numbering, KeptRows& kept,
                   const Point& point, GradientPass& pass);

// Sums of products of the columns of a block, weighted by the second derivative of the loss.
struct GramPass {
  std::span<const std::int32_t> slots;  // of the numbering: the place in the block, or -1
  std::size_t known = 0;                // places before it have their products already
  std::span<double> products;           // as packed_row() says
  std::span<double> cross;              // with the intercept, of new columns
  double own = 0;                       // of the intercept
};
void gram_pass(const Fit& fit, int shard, const Numbering& numbering, KeptRows& kept,
               const Point& point, GramPass& pass);

}  // namespace meanwhile::learn::linear
