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

constexpr std::int64_t kAhead = 3;  // rows

// W: weights are double, or float (see goes_narrow); so is what the gradient is gathered in.
template <class M, class W>
class Pass {
 public:
  Pass(const M& m, const Problem& problem, const Examples& examples, std::span<const W> w,
       std::span<W> gradient)
      : m_(m),
        problem_(problem),
        examples_(examples),
        w_(w),
        gradient_(gradient),
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
      if (gradient_.empty() || slope == 0) return;
      add(r, slope, gradient_.data());
      if (problem_.intercept) gradient_[problem_.intercepts()] += static_cast<W>(slope);
      return;
    }
    if constexpr (std::is_same_v<W, double>) several(r, label, weight);
  }

  void block(const data::RowRange& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      if (i + kAhead < block.end) {
        prefetch_weights(view(m_, i + kAhead), w_.data(), problem_.outputs);
      }
      row(i);
    }
  }

  const LossSums& sums() const { return sums_; }

 private:
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
    if (gradient_.empty()) return;
    for (double& slope : z_) slope *= weight;
    add(r, z_.data(), C, gradient_.data());
    if (!problem_.intercept) return;
    for (std::size_t c = 0; c < C; ++c) gradient_[problem_.intercepts() + c] += z_[c];
  }

  const M& m_;
  const Problem& problem_;
  const Examples& examples_;
  const std::span<const W> w_;
  const std::span<W> gradient_;
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
                   std::span<const W> w, const PassOptions& options, std::span<W> gradient) {
  const data::Shard& rows = examples.shard(shard);
  Pass<M, W> pass(m, problem, examples, w, gradient);
  const auto wanted = [&](std::int64_t position) {
    if (options.rows == Rows::kAll || !examples.holds_out()) return options.rows != Rows::kHeldOut;
    return examples.held_out(shard, position) == (options.rows == Rows::kHeldOut);
  };
  if (options.fraction < 1) {
    Finder finder(rows);
    sample(rows.rows, options, shard, [&](std::int64_t position) {
      if (wanted(position)) pass.row(finder.row(position));
    });
  } else if (options.rows == Rows::kAll || !examples.holds_out()) {
    if (options.rows == Rows::kHeldOut) return pass.sums();
    for (const data::RowRange& block : rows.blocks) pass.block(block);
  } else {
    for_rows(rows, [&](std::int64_t row, std::int64_t position) {
      if (wanted(position)) pass.row(row);
    });
  }
  return pass.sums();
}

}  // namespace

LossSums pass(const Problem& problem, const Examples& examples, int shard,
              std::span<const double> w, const PassOptions& options, std::span<double> gradient) {
  return std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<M, data::Sparse<float>>) {
          if (!options.narrow.empty() && goes_narrow(problem, examples.x())) {
            std::vector<float> gathered(gradient.size());
            const LossSums sums =
                pass_over<M, float>(m, problem, examples, shard, options.narrow, options, gathered);
            for (std::size_t i = 0; i < gathered.size(); ++i) {
              gradient[i] += static_cast<double>(gathered[i]);
            }
            return sums;
          }
        }
        return pass_over<M, double>(m, problem, examples, shard, w, options, gradient);
      },
      examples.x());
}

void statistics(const Examples& examples, int shard, Statistics& sums) {
  const auto D = static_cast<std::size_t>(data::cols(examples.x()));
  const std::size_t each = sums.moments.size() / std::max<std::size_t>(D, 1);
  std::visit(
      [&](const auto& m) {
        for_rows(examples.shard(shard), [&](std::int64_t row, std::int64_t position) {
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
            sums.moments[each * column] += weight * x * x;
            if (each == 2) sums.moments[2 * column + 1] += weight * x;
          }
        });
      },
      examples.x());
}

}  // namespace meanwhile::learn::linear
