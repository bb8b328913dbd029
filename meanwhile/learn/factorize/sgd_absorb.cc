// Absorbs the totals of SGD by rotation: see sgd.cc.
#include <algorithm>
#include <bit>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/learn/factorize/sgd.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;
using Stage = SgdStage;

namespace {

// Ratings are scaled to variance 1: a mean squared error above this has diverged.
constexpr double kDivergedAbove = 100;

float plain(float value) { return value + 0.0F; }  // never -0, as sums of updates

}  // namespace

Outcome Sgd::absorb(const exchange::Update& total) {
  Outcome outcome;
  outcome.phase = Phase::kPrepare;
  switch (stage_) {
    case Stage::kCount:
      take_counts(total);
      stage_ = Stage::kBegin;
      break;
    case Stage::kBegin:
      stage_ = Stage::kStep;
      break;
    case Stage::kStep:
      outcome.phase = Phase::kTrain;
      take_step(total, outcome);
      break;
    case Stage::kGather:
      take_users(total, outcome);
      break;
  }
  return outcome;
}

void Sgd::take_counts(const exchange::Update& total) {
  const std::span<const double> sums = total.dense<double>(kSums);
  const std::span<const std::int64_t> counts = total.dense<std::int64_t>(kCounts);
  ratings_total_ = sums[0];
  if (ratings_total_ == 0) throw Error(ErrorKind::kInput, "there are no ratings to learn from");
  mean_ = sums[1] / ratings_total_;
  const double around = parameters_.biases ? mean_ : 0;
  const double variance = sums[2] / ratings_total_ - around * around;
  // Equal ratings may have a variance a little off 0.
  scale_ = variance > 1e-12 * sums[2] / ratings_total_ ? std::sqrt(variance) : 1;
  counts_.assign(counts.begin(), counts.end());
  trained_.mean = mean_;
  make_places();
  const std::size_t items = counts_.size();
  item_factors_.assign(items * width_, 0.0F);
  item_rows_.assign(items, {});
  for (std::size_t i = 0; i < items; ++i) {
    if (counts_[i] == 0) continue;  // its factors stay 0
    for (std::size_t f = 0; f < trained_.n_factors; ++f) {
      item_factors_[places_.place(i) * width_ + f] = first_factor(
          attachment_.seed, Side::kItem, static_cast<std::int64_t>(i), f, trained_.n_factors);
    }
  }
}

void Sgd::make_places() {
  places_ = ItemPlaces(counts_, shards());
  rotation_ = std::make_unique<tables::Rotation>(shards(), attachment_.seed, pass_);
  if (restored_items_.empty()) return;
  // Items as a state has them: by number.
  const std::size_t items = counts_.size(), stored = trained_.n_factors + 2;
  item_factors_.assign(items * width_, 0.0F);
  item_rows_.assign(items, {});
  for (std::size_t i = 0; i < items; ++i) {
    const float* const from = &restored_items_[i * stored];
    const std::size_t place = places_.place(i);
    std::copy_n(from, trained_.n_factors, &item_factors_[place * width_]);
    item_rows_[place] = {from[trained_.n_factors], from[trained_.n_factors + 1]};
  }
  restored_items_ = {};
}

void Sgd::take_step(const exchange::Update& total, Outcome& outcome) {
  if (!attachment_.alone) {
    const std::size_t factors = trained_.n_factors;
    for (const std::int64_t item : total.touched(kItemRows)) {
      const std::span<const float> row = total.row<float>(kItemRows, item);
      if (row[factors + 1] == 0) continue;  // absent: squares are 1 at least
      const std::size_t place = places_.place(static_cast<std::size_t>(item));
      std::copy_n(row.begin(), factors, &item_factors_[place * width_]);
      item_rows_[place] = {row[factors], row[factors + 1]};
    }
  }
  const std::span<const double> sums = total.dense<double>(kSums);
  const double mean_square = sums[0] == 0 ? 0 : sums[1] / sums[0];
  if (!(mean_square < kDivergedAbove)) {
    const std::string how =
        std::isfinite(mean_square)
            ? fmt::format("off by {:.3g} standard deviations", std::sqrt(mean_square))
            : "no longer finite";
    throw Error(ErrorKind::kFailed,
                "sgd diverges: in step {} of pass {} predictions are {}; lower {}, or raise {}",
                step_ + 1, pass_ + 1, how, base::parameter("learning_rate"), base::parameter("l2"));
  }
  errors_ += sums[1];
  outcome.objective = mean_square * scale_ * scale_;
  outcome.record = {
      {"rmse", std::sqrt(mean_square) * scale_}, {"pass", pass_ + 1}, {"ratings", sums[0]}};
  if (++step_ < shards_) return;
  step_ = 0;
  ++pass_;
  end_pass(errors_ / ratings_total_);
  errors_ = 0;
  rotation_ = std::make_unique<tables::Rotation>(shards(), attachment_.seed, pass_);
}

// `mean_square`: of the errors of all ratings, each before its step.
void Sgd::end_pass(double mean_square) {
  if (before_ >= 0 && before_ - mean_square < parameters_.tol * before_) {
    ended_ = {Ending::kConverged,
              fmt::format("converged: pass {} lowered the squared error by less than tol={}", pass_,
                          parameters_.tol)};
  } else if (pass_ >= parameters_.max_iter) {
    ended_ = {Ending::kRanOut, fmt::format("max_iter={} reached", parameters_.max_iter)};
  }
  before_ = mean_square;
  if (ended_ || std::has_single_bit(static_cast<std::uint64_t>(pass_))) stage_ = Stage::kGather;
}

void Sgd::take_users(const exchange::Update& total, Outcome& outcome) {
  const std::size_t factors = trained_.n_factors;
  if (!attachment_.alone) {
    for (const std::int64_t user : total.touched(kUserRows)) {
      const std::span<const float> row = total.row<float>(kUserRows, user);
      const auto u = static_cast<std::size_t>(user);
      std::copy_n(row.begin(), factors, &trained_.user_factors[u * factors]);
      if (trained_.biased) trained_.user_biases[u] = row[factors];
    }
  }
  const double root = std::sqrt(scale_);
  double penalty = total.dense<double>(kSums)[2];
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::size_t place = places_.place(i);
    double squares = 0;
    const auto put = [&](float value, double by, float& to) {
      to = plain(static_cast<float>(static_cast<double>(value) * by));
      squares += static_cast<double>(to) * static_cast<double>(to);
    };
    for (std::size_t f = 0; f < factors; ++f) {
      put(item_factors_[place * width_ + f], root, trained_.item_factors[i * factors + f]);
    }
    if (trained_.biased) put(item_rows_[place].bias, scale_, trained_.item_biases[i]);
    penalty += static_cast<double>(counts_[i]) * squares;
  }
  const std::span<const double> sums = total.dense<double>(kSums);
  const double mean_square = sums[1] / ratings_total_ * scale_ * scale_;
  outcome.phase = Phase::kScore;
  outcome.objective = mean_square + parameters_.l2 * penalty / ratings_total_;
  outcome.record = {{"rmse", std::sqrt(mean_square)}, {"pass", pass_}};
  outcome.ending = ended_.ending;
  outcome.because = ended_.because;
  stage_ = Stage::kStep;
}

}  // namespace meanwhile::learn::factorize
