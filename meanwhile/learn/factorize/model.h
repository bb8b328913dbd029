// The trained model of factorize.
#pragma once

#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/trained.h"
#include "meanwhile/learn/model.h"

namespace meanwhile::learn::factorize {

class FactorModel final : public Model {
 public:
  // THROWS Error(kInput) when the file holds no such model.
  explicit FactorModel(const data::SafetensorsFile& file);

  const Trained& trained() const { return trained_; }
  const Parameters& parameters() const { return parameters_; }

  const ColumnSchema& columns() const override { return columns_; }
  bool has_labels() const override { return false; }
  // A user's row of ratings is known by its factors; both THROW Error(kUsage).
  std::int64_t transformed_cols() const override { return 0; }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end, int threads,
                 std::span<double> values) const override;
  Json evaluate(const data::Dataset& data, int threads) const override;
  Json describe() const override;

 private:
  Parameters parameters_;
  Trained trained_;
  ColumnSchema columns_;
};

}  // namespace meanwhile::learn::factorize
