// A linear model behind the contract of trained models.
#pragma once

#include "meanwhile/base/threads.h"
#include "meanwhile/learn/linear/model.h"
#include "meanwhile/learn/model.h"

namespace meanwhile::learn::linear {

class LinearModel final : public learn::Model {
 public:
  explicit LinearModel(linear::Model model);

  const ColumnSchema& columns() const override { return columns_; }
  bool ignores_extra_columns() const override { return true; }
  Predictions predict(const data::Dataset& data, base::Threads threads) const override;
  std::vector<std::string> classes() const override;
  void probabilities(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                     base::Threads threads, std::span<double> values) const override;
  // Margins.
  std::int64_t transformed_cols() const override;
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                 base::Threads threads, std::span<double> values) const override;
  Json evaluate(const data::Dataset& data, base::Threads threads,
                const Measuring& measuring) const override;
  Json describe() const override;

 private:
  linear::Model model_;
  ColumnSchema columns_;
};

}  // namespace meanwhile::learn::linear
