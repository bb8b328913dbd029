// The passes of SGD, by kind of row and of rate:
//
//   sparse rows, one rate       v = c u: shrinking is one multiplication (Bottou)
//   sparse rows, a rate each    what a weight owes to the penalties is paid on touch
//   dense rows                  every row touches every weight: nothing to be lazy about
//
// Cost: a gather and a scatter for each value stored; a pass begins and ends with one walk over all
// weights. Rows and the weights they touch are prefetched, which is most of the speed when the
// weights do not fit into the near caches.
//
// Equal rows that are dealt as one may weigh as much as thousands of others. A step as long as
// theirs together would throw the weights far beyond the least loss of the row, so a heavy row
// takes the step whose slope is that of the margin it ends at (Kulis and Bartlett, "Implicit online
// learning", 2010): it goes the same way, and never past the least loss.
#include "meanwhile/learn/linear/sgd.h"

#include <algorithm>
#include <limits>

#include "meanwhile/learn/linear/rows.h"
#include "meanwhile/learn/linear/sgd_steps.h"
#include "meanwhile/learn/shuffled_rows.h"

namespace meanwhile::learn::linear {

namespace {

constexpr std::size_t kRowsAhead = 8, kWeightsAhead = 3;
constexpr int kHalvings = 40;

// The common part of all passes: the loop over shuffled rows, margins, losses, slopes.
template <class M>
class Walk {
 public:
  using T = typename M::Value;

  Walk(const M& m, const Problem& problem, const Examples& examples, int shard,
       const Coordinates& coordinates, const SgdOptions& options, SgdResult& result)
      : m_(m),
        problem_(problem),
        examples_(examples),
        coordinates_(coordinates),
        options_(options),
        shard_(shard),
        result_(result),
        scaled_(!coordinates.scale.empty()),
        heavy_(options.heavy < 0 || options.adaptive ? std::numeric_limits<double>::infinity()
                                                     : options.heavy),
        z_(problem.outputs) {}

  // `step` has: prefetch(row), margins(row, z), learn(row, slopes, rate), where row is a RowView.
  template <class Step>
  void run(Step& step) {
    ShuffledRows order(
        examples_.shard(shard_), options_.seed, options_.round,
        [this](std::int64_t position) { return examples_.held_out(shard_, position); });
    const std::int64_t all = examples_.shard(shard_).rows;
    const std::int64_t most = options_.most_rows < 0 ? all : std::min(options_.most_rows, all);
    std::int64_t t = 0;
    for (auto rows = order.next(); !rows.empty() && t < most; rows = order.next()) {
      for (std::size_t i = 0; i < rows.size() && t < most; ++i, ++t) {
        if (i + kRowsAhead < rows.size()) prefetch_row(m_, rows[i + kRowsAhead]);
        if (i + kWeightsAhead < rows.size()) step.prefetch(view(m_, rows[i + kWeightsAhead]));
        const double rate = options_.rate / (1 + options_.decay * static_cast<double>(t));
        const bool late = 2 * t >= most;
        if (scaled_) {
          one(step, transformed(view(m_, rows[i])), rows[i], rate, late);
        } else {
          one(step, view(m_, rows[i]), rows[i], rate, late);
        }
      }
      order.for_window([this](data::RowRange block) { examples_.leave(block); });
    }
    result_.rows = static_cast<double>(t);
  }

 private:
  template <class Step, class R>
  void one(Step& step, const R& row, std::int64_t number, double rate, bool late) {
    const double label = examples_.label(number), weight = examples_.weight(problem_, number);
    step.margins(row, z_);
    double relative = weight / options_.mean_weight;
    if (relative > heavy_) margins_ = z_;
    const double loss = weight * problem_.loss_and_slopes(z_, label);
    result_.loss += loss;
    result_.weight += weight;
    if (late) {
      result_.late_loss += loss;
      result_.late_weight += weight;
    }
    if (relative > heavy_) relative *= implicit(row, label, rate * relative);
    for (double& slope : z_) slope *= relative;
    step.learn(row, z_, rate);
  }

  // The share of a step of `length` along the slopes in z_ after which the slopes, along those in
  // z_, are that share of what they are now. REQUIRES: margins_ are those of the row.
  template <class R>
  double implicit(const R& row, double label, double length) {
    double square = problem_.intercept ? 1 : 0, now = 0;
    for (std::size_t k = 0; k < row.size; ++k) {
      square += static_cast<double>(row.values[k]) * static_cast<double>(row.values[k]);
    }
    for (const double slope : z_) now += slope * slope;
    if (!(now > 0)) return 1;
    double least = 0, most = 1;
    for (int i = 0; i < kHalvings; ++i) {
      const double share = (least + most) / 2;
      ahead_ = margins_;
      for (std::size_t c = 0; c < z_.size(); ++c) ahead_[c] -= share * length * square * z_[c];
      problem_.loss_and_slopes(ahead_, label);
      double then = 0;
      for (std::size_t c = 0; c < z_.size(); ++c) then += ahead_[c] * z_[c];
      (then < share * now ? most : least) = share;
    }
    return least;
  }

  RowView<double> transformed(const RowView<T>& row) {
    buffer_.resize(row.size);
    for (std::size_t k = 0; k < row.size; ++k) {
      const std::size_t j = row.columns ? static_cast<std::size_t>(row.columns[k]) : k;
      const double mean = coordinates_.mean.empty() ? 0 : coordinates_.mean[j];
      buffer_[k] = (static_cast<double>(row.values[k]) - mean) * coordinates_.scale[j];
    }
    return {row.columns, buffer_.data(), row.size};
  }

  const M& m_;
  const Problem& problem_;
  const Examples& examples_;
  const Coordinates& coordinates_;
  const SgdOptions& options_;
  const int shard_;
  SgdResult& result_;
  const bool scaled_;
  const double heavy_;
  std::vector<double> z_;                // margins, then slopes
  std::vector<double> margins_, ahead_;  // of a heavy row
  std::vector<double> buffer_;           // a row in other coordinates
};

}  // namespace

void Coordinates::enter(const Problem& problem, std::span<double> w) const {
  if (scale.empty()) return;
  const std::size_t C = problem.outputs;
  for (std::size_t j = 0; j < scale.size(); ++j) {
    for (std::size_t c = 0; c < C; ++c) {
      if (!mean.empty()) w[problem.intercepts() + c] += w[j * C + c] * mean[j];
      w[j * C + c] /= scale[j];
    }
  }
}

void Coordinates::leave(const Problem& problem, std::span<double> v) const {
  if (scale.empty()) return;
  const std::size_t C = problem.outputs;
  for (std::size_t j = 0; j < scale.size(); ++j) {
    for (std::size_t c = 0; c < C; ++c) {
      v[j * C + c] *= scale[j];
      if (!mean.empty()) v[problem.intercepts() + c] -= v[j * C + c] * mean[j];
    }
  }
}

SgdResult sgd_pass(const Problem& problem, const Examples& examples, int shard,
                   const Coordinates& coordinates, std::span<const double> v,
                   std::span<const double> squares, const SgdOptions& options) {
  SgdResult result;
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        Walk walk(m, problem, examples, shard, coordinates, options, result);
        if constexpr (!data::kIsSparse<M>) {
          result.v.assign(v.begin(), v.end());
          result.squares.assign(squares.begin(), squares.end());
          DenseRate step(problem, coordinates, options, result);
          walk.run(step);
          step.finish();
        } else if (options.adaptive) {
          RateEach step(problem, options, v, squares);
          walk.run(step);
          step.finish(result);
        } else {
          result.v.assign(v.begin(), v.end());
          OneRate step(problem, options, result.v);
          walk.run(step);
          result.shrink = step.finish(result.rows);
        }
      },
      examples.x());
  return result;
}

}  // namespace meanwhile::learn::linear
