// Folds of the rows: each is held out once, and the rest is learned from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/data/part.h"

namespace meanwhile::tune {

struct FoldOptions {
  int folds = 5;             // 0: one, of `test_fraction` of the rows
  double test_fraction = 0;  // of the rows
  bool stratified = false;   // every fold has its share of every label
  std::uint64_t seed = 0;
};

struct Folds {
  int count = 0;
  std::vector<std::int32_t> of_row;  // -1: the row is never held out
};

// A pure function of options, number of rows and labels. THROWS Error(kUsage) for options that are
// out of range, Error(kInput) for fewer rows than folds, and for a class without two rows: a model
// that was made without a class cannot be judged on its rows.
Folds deal_folds(const data::Part& part, const FoldOptions& options);

// The rows outside a fold, as shards with holes: views of the rows of `part`, of which nothing is
// copied.
data::Part outside(const data::Part& part, const Folds& folds, int fold);
// The rows inside a fold, copied: what measures a model takes rows that lie together.
data::Dataset inside(const data::Part& part, const Folds& folds, int fold);

}  // namespace meanwhile::tune
