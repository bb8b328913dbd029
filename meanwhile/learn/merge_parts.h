// Each learner's part of merge.h: tensors and metadata of one model, made of several.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/learn/merge.h"

namespace meanwhile::learn {

struct MergedParts {
  struct Numbers {
    std::vector<std::int64_t> shape;
    std::vector<double> values;
  };
  std::map<std::string, Numbers> tensors = {};
  base::Json parameters = {}, progress = base::Json::object(), about = {};
  std::vector<double> weights = {};  // of each model: rows, or documents
};

// An error about two models that do not fit each other.
[[noreturn]] void refuse_merge(const MergeInput& one, const MergeInput& other,
                               const std::string& why);

// The number of columns of a model; open: they go on without end. A libsvm file has as many as its
// largest index, so that parts of one set of data differ: a column beyond a part was 0 in all of
// its rows.
struct Width {
  std::int64_t cols = 0;
  bool open = false;
};

// THROWS Error(kInput) unless both models have as many columns, or both are open.
void check_widths(const MergeInput& one, const Width& width, const MergeInput& other,
                  const Width& other_width);

// The centres of all models are points that weigh the rows behind them. The two that add least
// inertia become one, until as many are left as the largest model has; then Lloyd's rounds over
// these points move the centres until none moves. A pure function of the models and their order.
// Models of libsvm files may have different numbers of columns: centres are 0 in those beyond.
MergedParts merge_kmeans(std::span<const MergeInput> models);

// The mean of weights and intercepts, each model weighing the rows it was learned from: one-shot
// averaging of models. Classes are matched by label. Models of libsvm files may have different
// numbers of columns: a column that a model does not have weighs 0 in it.
MergedParts merge_linear(std::span<const MergeInput> models);

// Topics of models that were trained apart have no common order: those of each model are matched
// with those of the models before it. Counts (lambda without the prior) of matched topics add up;
// alpha is the mean by documents.
MergedParts merge_lda(std::span<const MergeInput> models);

// The topic of `other` for each topic of `one`: the assignment with the largest sum of the
// Bhattacharyya coefficients of their words. Both are words x topics, of positive numbers.
std::vector<std::size_t> match_topics(std::span<const double> one, std::span<const double> other,
                                      std::size_t topics);

}  // namespace meanwhile::learn
