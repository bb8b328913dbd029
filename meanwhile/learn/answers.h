// Answers of a model for rows, as columns of a table that have names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/learn/model.h"

namespace meanwhile::learn {

enum class Ask {
  kLabels,         // of a model without labels, as kTransformed
  kProbabilities,  // of every class
  kLabelsAndProbabilities,
  kTransformed,
};

// Thread safety: any number of calls at the same time. Borrows the model. REQUIRES: what predict(),
// probabilities() and transform() of the model say of a row does not depend on the other rows.
class Answers {
 public:
  // `prefix` stands before every name. THROWS Error(kUsage) if the model gives no probabilities.
  Answers(const Model& model, Ask ask, const std::string& prefix = "");

  const std::vector<std::string>& names() const { return names_; }
  std::int64_t cols() const { return static_cast<std::int64_t>(names_.size()); }

  // The labels of all rows; of kTransformed, nothing. THROWS as Model::predict().
  Predictions labels(const data::Dataset& data, base::Threads threads) const;
  // Rows [begin, end) x cols(), row-major. The first column is that of `labels`, if there are any:
  // indices into labels.names, or values. NaN: the row lacks a value.
  void block(const data::Dataset& data, const Predictions& labels, std::int64_t begin,
             std::int64_t end, base::Threads threads, std::vector<double>& values) const;

 private:
  const Model& model_;
  bool labels_ = false, probabilities_ = false;
  std::vector<std::string> names_;
};

}  // namespace meanwhile::learn
