// The trained model of factorize.
#pragma once

#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/ratings_input.h"
#include "meanwhile/learn/factorize/top_items.h"
#include "meanwhile/learn/factorize/trained.h"
#include "meanwhile/learn/model.h"
#include "meanwhile/learn/pair_model.h"

namespace meanwhile::learn::factorize {

class FactorModel final : public Model, public PairModel {
 public:
  // THROWS Error(kInput) when the file holds no such model.
  explicit FactorModel(const data::SafetensorsFile& file);

  const Trained& trained() const { return trained_; }
  const Parameters& parameters() const { return parameters_; }

  const ColumnSchema& columns() const override { return columns_; }
  bool has_labels() const override { return false; }
  // A user's row of ratings is known by its factors; both THROW Error(kUsage).
  std::int64_t transformed_cols() const override { return 0; }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                 base::Threads threads, std::span<double> values) const override;
  Json evaluate(const data::Dataset& data, base::Threads threads,
                const Measuring& measuring) const override;
  Json describe() const override;

  const PairModel* pairs() const override { return this; }
  PairPredictions predict_pairs(const PairFiles& files, int threads,
                                std::vector<std::string>& notes) const override;
  Json evaluate_pairs(const PairFiles& files, const PairFiles& rated, std::int64_t top, int threads,
                      std::vector<std::string>& notes) const override;
  std::vector<Recommendation> recommend(const std::vector<std::string>& users,
                                        const PairFiles& rated, std::int64_t top, int threads,
                                        std::vector<std::string>& notes) const override;

 private:
  RatingList read(const PairFiles& files, bool need_ratings, int threads) const;
  Rated read_rated(const PairFiles& rated, int threads) const;

  Parameters parameters_;
  Trained trained_;
  ColumnSchema columns_;
};

}  // namespace meanwhile::learn::factorize
