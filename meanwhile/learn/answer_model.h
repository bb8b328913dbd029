// A model that is its own answer: it was learned from one graph, and has nothing to say of other
// data.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "meanwhile/base/threads.h"
#include "meanwhile/learn/model.h"

namespace meanwhile::learn {

// `what`: the learner's name, for messages.
class AnswerModel : public Model {
 public:
  explicit AnswerModel(std::string what) : what_(std::move(what)) {}

  const ColumnSchema& columns() const override { return columns_; }
  bool has_labels() const override { return false; }
  std::int64_t transformed_cols() const override { return 0; }
  // Both THROW Error(kUsage).
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                 base::Threads threads, std::span<double> values) const override;
  Json evaluate(const data::Dataset& data, base::Threads threads,
                const Measuring& measuring) const override;

 private:
  std::string what_;
  ColumnSchema columns_;
};

}  // namespace meanwhile::learn
