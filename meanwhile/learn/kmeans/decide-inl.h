// From scores to the nearest centre, per instruction set: the decision that makes a screened answer
// the exact one. Included by kernel.cc only, once for each instruction set.

#if defined(MEANWHILE_KMEANS_DECIDE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MEANWHILE_KMEANS_DECIDE_INL_H
#undef MEANWHILE_KMEANS_DECIDE_INL_H
#else
#define MEANWHILE_KMEANS_DECIDE_INL_H
#endif

#include <hwy/highway.h>

#include "meanwhile/learn/kmeans/screen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::kmeans::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A centre that row i scores below this has a value above `value`, for certain.
HWY_INLINE double score_limit(Metric metric, const Seen& seen, std::int64_t i, double value) {
  const double score = metric == Metric::kEuclidean ? seen.half_norm2[i] - value / 2 * seen.per_unit
                                                    : -value * seen.per_unit;
  return score - seen.error[i];
}

// The search for the nearest centres of a batch of rows. S is the type of a score: float or int32.
// `out` holds the best centre so far of each row (label -1: none yet).
template <class T, class S>
class Search {
 public:
  Search(const Centers& centers, const T* const* rows, const Seen& seen, const Nearest& out,
         std::int64_t n)
      : c_(centers), rows_(rows), seen_(seen), out_(out) {
    for (std::int64_t i = 0; i < n; ++i) {
      rest_[i] = static_cast<double>(hwy::LowestValue<S>());
      second_[i] = std::numeric_limits<double>::infinity();
      if (out.labels[i] >= 0) limit_[i] = score_limit(c_.metric, seen, i, out.values[i]);
    }
  }

  // Takes the scores of row i for the centres [begin, begin + count), count a multiple of 16, and
  // spoils them.
  HWY_INLINE void look(std::int64_t i, S* HWY_RESTRICT scores, std::int64_t begin,
                       std::int64_t count) {
    S top = largest(scores, count);
    if (out_.labels[i] < 0 || static_cast<double>(top) >= limit_[i]) {
      top = look_closely(i, scores, begin, count, top);
    }
    rest_[i] = std::max(rest_[i], static_cast<double>(top));
  }

  // Looks at every centre exactly: for rows the screen cannot measure.
  void look_at_all(std::int64_t i) {
    out_.labels[i] = -1;
    for (std::int64_t k = 0; k < c_.K; ++k) compare(i, k);
    rest_[i] = std::numeric_limits<double>::infinity();
  }

  // After all scores: what the values of the other centres are at least.
  double others(std::int64_t i) const {
    const double most = (rest_[i] + seen_.error[i]) * seen_.unit;
    const double least =
        c_.metric == Metric::kEuclidean ? 2 * (seen_.half_norm2[i] * seen_.unit - most) : -most;
    return std::min(second_[i], least);
  }

  std::int64_t compared() const { return compared_; }

 private:
  using Tag = hn::CappedTag<S, 16>;

  // The largest of `count` scores.
  static HWY_INLINE S largest(const S* HWY_RESTRICT scores, std::int64_t count) {
    const Tag d;
    const auto step = static_cast<std::int64_t>(hn::Lanes(d));
    auto most = hn::LoadU(d, scores);
    for (std::int64_t k = step; k < count; k += step)
      most = hn::Max(most, hn::LoadU(d, scores + k));
    return hn::GetLane(hn::MaxOfLanes(d, most));
  }

  // Compares exactly all centres that could be nearest, the highest score first and each once;
  // returns the largest score of the others.
  S look_closely(std::int64_t i, S* HWY_RESTRICT scores, std::int64_t begin, std::int64_t count,
                 S top) {
    for (;;) {
      const std::int64_t k = first_at_least(scores, count, top);
      scores[k] = hwy::LowestValue<S>();
      compare(i, begin + k);
      top = largest(scores, count);
      // A limit can lie below all scores there are: then all centres are compared, and none is
      // left.
      if (static_cast<double>(top) < limit_[i] || top <= hwy::LowestValue<S>()) return top;
    }
  }

  // The first score that is not below `least`. REQUIRES: there is one.
  static HWY_INLINE std::int64_t first_at_least(const S* HWY_RESTRICT scores, std::int64_t count,
                                                S least) {
    const Tag d;
    const auto step = static_cast<std::int64_t>(hn::Lanes(d));
    const auto bound = hn::Set(d, least);
    for (std::int64_t k = 0; k < count; k += step) {
      const auto below = hn::Lt(hn::LoadU(d, scores + k), bound);
      if (!hn::AllTrue(d, below))
        return k + static_cast<std::int64_t>(hn::FindFirstTrue(d, hn::Not(below)));
    }
    return 0;
  }

  void compare(std::int64_t i, std::int64_t k) {
    if (k == out_.labels[i] || k >= c_.K) return;
    ++compared_;
    const double value = value_of(c_.metric, rows_[i], c_.center(k), c_.D);
    if (out_.labels[i] < 0 || value < out_.values[i] ||
        (value == out_.values[i] && k < out_.labels[i])) {
      if (out_.labels[i] >= 0) second_[i] = std::min(second_[i], out_.values[i]);
      out_.labels[i] = static_cast<std::int32_t>(k);
      out_.values[i] = value;
      limit_[i] = score_limit(c_.metric, seen_, i, value);
    } else {
      second_[i] = std::min(second_[i], value);
    }
  }

  const Centers& c_;
  const T* const* rows_;
  const Seen& seen_;
  Nearest out_;
  std::int64_t compared_ = 0;
  double limit_[kBatch], second_[kBatch], rest_[kBatch];
};

}  // namespace meanwhile::learn::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
