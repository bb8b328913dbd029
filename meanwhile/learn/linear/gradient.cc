// Gradient and loss of a shard at fixed weights.
//
// Cost: for each stored value one gather (and one scatter where the slope is not zero); rows come
// in order, so their own memory streams, and the weights of rows to come are prefetched.
#include "meanwhile/learn/linear/gradient.h"

#include <cmath>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/learn/linear/rows.h"

namespace meanwhile::learn::linear {

namespace {

constexpr std::int64_t kAhead = 3;        // rows
constexpr std::size_t kNear = 512 << 10;  // bytes of weights that a core's own cache holds anyway

// W: weights are double, or float (see goes_narrow); so is what the gradient is gathered in.
template <class M, class W>
class Pass {
 public:
  // `features`, `intercepts`: to add the gradient to, or null. `rows`: see Gradient.
  Pass(const M& m, const Problem& problem, const Examples& examples, std::span<const W> w,
       W* features, W* intercepts, const Gradient& rows)
      : m_(m),
        problem_(problem),
        examples_(examples),
        w_(w),
        features_(features),
        intercepts_(intercepts),
        rows_(rows.rows),
        block_(rows.block),
        far_(w.size_bytes() > kNear),
        sharp_(problem.loss),
        z_(problem.outputs) {
    sharp_.smoothing = 0;
  }

  void row(std::int64_t row) {
    const auto r = view(m_, row);
    const double label = examples_.label(row), weight = examples_.weight(problem_, row);
    const std::size_t C = problem_.outputs;
    const W* intercept = w_.data() + problem_.intercepts();
    sums_.rows += 1;
    sums_.weight += weight;
    if (C == 1) {
      const double z = dot(r, w_.data()) + static_cast<double>(intercept[0]),
                   y = problem_.target(label, 0);
      const double loss = weight * problem_.loss.value(z, y);
      sums_.loss += loss;
      sums_.sharp += problem_.loss.smoothing > 0 ? weight * sharp_.value(z, y) : loss;
      if (!problem_.classes.empty() && (z > 0) == (y > 0)) sums_.right += weight;
      const double slope = weight * problem_.loss.slope(z, y);
      if (features_ == nullptr || slope == 0) return;
      touch(r);
      add(r, slope, features_);
      if (problem_.intercept) intercepts_[0] += static_cast<W>(slope);
      return;
    }
    if constexpr (std::is_same_v<W, double>) several(r, label, weight);
  }

  void block(const data::RowRange& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      if (far_ && i + kAhead < block.end) {
        prefetch_weights(view(m_, i + kAhead), w_.data(), problem_.outputs);
      }
      row(i);
    }
  }

  const LossSums& sums() const { return sums_; }

 private:
  template <class R>
  void touch(const R& r) {
    if (rows_ == nullptr) return;
    for (std::size_t k = 0; k < r.size; ++k) rows_->touch<double>(block_, r.columns[k]);
  }

  template <class R>
  void several(const R& r, double label, double weight) {
    const std::size_t C = problem_.outputs;
    std::copy_n(w_.data() + problem_.intercepts(), C, z_.data());
    dot(r, w_.data(), C, z_.data());
    const auto largest =
        static_cast<std::size_t>(std::max_element(z_.begin(), z_.end()) - z_.begin());
    if (static_cast<double>(largest) == label) sums_.right += weight;
    if (problem_.loss.smoothing > 0) {
      for (std::size_t c = 0; c < C; ++c) {
        sums_.sharp += weight * sharp_.value(z_[c], problem_.target(label, c));
      }
    }
    const double loss = weight * problem_.loss_and_slopes(z_, label);
    sums_.loss += loss;
    if (problem_.loss.smoothing == 0) sums_.sharp += loss;
    if (features_ == nullptr) return;
    for (double& slope : z_) slope *= weight;
    touch(r);
    add(r, z_.data(), C, features_);
    if (!problem_.intercept) return;
    for (std::size_t c = 0; c < C; ++c) intercepts_[c] += z_[c];
  }

  const M& m_;
  const Problem& problem_;
  const Examples& examples_;
  const std::span<const W> w_;
  W *const features_, *const intercepts_;
  exchange::Update* const rows_;
  const int block_;
  const bool far_;  // weights are beyond the caches of a core
  LossFunction sharp_;
  std::vector<double> z_;
  LossSums sums_;
};

// The positions of a sample, each row with probability `fraction`: gaps are geometric, so the cost
// is that of the rows drawn.
template <class Use>
void sample(std::int64_t rows, const PassOptions& options, int shard, Use&& use) {
  const base::Random random(options.seed, base::Purpose::kBatch, static_cast<std::uint32_t>(shard),
                            options.round);
  const double log_skip = std::log1p(-options.fraction);
  std::uint64_t drawn = 0;
  for (double position = -1;;) {
    const double u = 1 - random.uniform(drawn++);  // in (0, 1]
    position += 1 + (options.fraction >= 1 ? 0 : std::floor(std::log(u) / log_skip));
    if (position >= static_cast<double>(rows)) return;
    use(static_cast<std::int64_t>(position));
  }
}

// The row at a position of the shard: blocks but the last of the data have the same size, yet a
// part may have joined or cut them, so positions are looked up going forward.
class Finder {
 public:
  explicit Finder(const data::Shard& shard) : shard_(shard) {}
  std::int64_t row(std::int64_t position) {
    for (;; before_ += length(), ++block_) {
      if (position < before_ + length()) return shard_.blocks[block_].begin + position - before_;
    }
  }

 private:
  std::int64_t length() const { return shard_.blocks[block_].end - shard_.blocks[block_].begin; }
  const data::Shard& shard_;
  std::size_t block_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace

bool goes_narrow(const Problem& problem, const data::Matrix& x) {
  return problem.outputs == 1 && !problem.classes.empty() &&
         std::holds_alternative<data::Sparse<float>>(x);
}

namespace {

template <class M, class W>
LossSums pass_over(const M& m, const Problem& problem, const Examples& examples, int shard,
                   std::span<const W> w, const PassOptions& options, W* features, W* intercepts,
                   const Gradient& touched) {
  const data::Shard& rows = examples.shard(shard);
  Pass<M, W> pass(m, problem, examples, w, features, intercepts, touched);
  const auto wanted = [&](std::int64_t position) {
    if (options.rows == Rows::kAll || !examples.holds_out()) return options.rows != Rows::kHeldOut;
    return examples.held_out(shard, position) == (options.rows == Rows::kHeldOut);
  };
  if (options.fraction < 1) {
    Finder finder(rows);
    sample(rows.rows, options, shard, [&](std::int64_t position) {
      if (!wanted(position)) return;
      const std::int64_t row = finder.row(position);
      pass.row(row);
      examples.leave({row, row + 1});
    });
  } else if (options.rows == Rows::kAll || !examples.holds_out()) {
    if (options.rows == Rows::kHeldOut) return pass.sums();
    for (const data::RowRange& block : rows.blocks) {
      pass.block(block);
      examples.leave(block);
    }
  } else {
    examples.for_rows(shard, [&](std::int64_t row, std::int64_t position) {
      if (wanted(position)) pass.row(row);
    });
  }
  return pass.sums();
}

}  // namespace

Gradient Gradient::in(exchange::Update& update, int features, int rest, std::size_t outputs) {
  const exchange::Block& shape = update.shape()[static_cast<std::size_t>(features)];
  if (shape.rows == 0) return {};
  return {update.dense<double>(features), update.dense<double>(rest).first(outputs),
          shape.sparse ? &update : nullptr, features};
}

namespace {

// The pass in float32: the gradient is gathered in float32, too, and then added.
LossSums narrow_pass(const data::Sparse<float>& m, const Problem& problem, const Examples& examples,
                     int shard, const PassOptions& options, const Gradient& gradient) {
  const std::size_t D = gradient.features.size();
  std::vector<float> gathered(D + gradient.intercepts.size());
  float* const features = gathered.empty() ? nullptr : gathered.data();
  const LossSums sums = pass_over<data::Sparse<float>, float>(
      m, problem, examples, shard, options.narrow, options, features, features + D, {});
  for (std::size_t i = 0; i < D; ++i) {
    if (gradient.rows == nullptr) {
      gradient.features[i] += static_cast<double>(gathered[i]);
    } else if (gathered[i] != 0) {
      gradient.rows->touch<double>(gradient.block, static_cast<std::int64_t>(i))[0] +=
          static_cast<double>(gathered[i]);
    }
  }
  for (std::size_t c = 0; c < gradient.intercepts.size(); ++c) {
    gradient.intercepts[c] += static_cast<double>(gathered[D + c]);
  }
  return sums;
}

}  // namespace

LossSums pass(const Problem& problem, const Examples& examples, int shard,
              std::span<const double> w, const PassOptions& options, const Gradient& gradient) {
  return std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<M, data::Sparse<float>>) {
          if (!options.narrow.empty() && goes_narrow(problem, examples.x())) {
            return narrow_pass(m, problem, examples, shard, options, gradient);
          }
        }
        return pass_over<M, double>(m, problem, examples, shard, w, options,
                                    gradient.features.data(), gradient.intercepts.data(), gradient);
      },
      examples.x());
}

void statistics(const Examples& examples, int shard, Statistics& sums) {
  const auto D = static_cast<std::size_t>(data::cols(examples.x()));
  const std::size_t each = sums.moments.size() / std::max<std::size_t>(D, 1);
  std::visit(
      [&](const auto& m) {
        examples.for_rows(shard, [&](std::int64_t row, std::int64_t position) {
          if (examples.held_out(shard, position)) return;
          const auto r = view(m, row);
          const double label = examples.label(row), weight = examples.sample_weight(row);
          sums.rows += 1;
          sums.weight += weight;
          sums.label += weight * label;
          sums.label_squared += weight * label * label;
          if (!sums.class_weight.empty()) {
            sums.class_weight[static_cast<std::size_t>(label)] += weight;
          }
          for (std::size_t k = 0; k < r.size; ++k) {
            const double x = static_cast<double>(r.values[k]);
            sums.norm_squared += x * x;
            if (sums.moments.empty()) continue;
            const std::size_t column = r.columns ? static_cast<std::size_t>(r.columns[k]) : k;
            if (sums.touched != nullptr) {
              sums.touched->touch<double>(0, static_cast<std::int64_t>(column));
            }
            sums.moments[each * column] += weight * x * x;
            if (each == 2) sums.moments[2 * column + 1] += weight * x;
          }
        });
      },
      examples.x());
}

}  // namespace meanwhile::learn::linear
