// A pass over the words of a document takes four at a time: four sums run side by side, are folded
// together, and the rows, still in the nearest cache, are added to the topics' sums.
//
// An iteration costs 4 n K operations for n distinct words; loading their topics about 30 n K,
// which is why inference from few iterations is bound by that.
#include "meanwhile/learn/lda/kernel.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/lda/kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h.
#include <hwy/cache_control.h>

#include "meanwhile/learn/lda/special-inl.h"

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::lda::HWY_NAMESPACE {

template <class T>
constexpr int kStep = static_cast<int>(HWY_LANES(T) < kLanes<T> ? HWY_LANES(T) : kLanes<T>);
template <class T>
constexpr int kParts = kLanes<T> / kStep<T>;  // vectors that make the canonical lanes

template <class T>
HWY_INLINE T smallest(const T* values, std::size_t width) {
  const Tag<T> d;
  constexpr std::size_t step = static_cast<std::size_t>(kStep<T>);
  Vec<T> least = hn::LoadU(d, values);
  for (std::size_t k = step; k < width; k += step) least = hn::Min(least, hn::LoadU(d, values + k));
  T lanes[kLanes<T>];
  hn::StoreU(least, d, lanes);
  T found = lanes[0];
  for (int i = 1; i < kStep<T>; ++i) found = std::min(found, lanes[i]);
  return found;
}

// x in `row` becomes exp(digamma(x)) * factor * exp(-returned): the largest is near its factor,
// however small the x, and nothing of it is lost below the smallest number. `below`: for width
// numbers.
template <class T, class Load>
HWY_INLINE T expect_row(T* row, std::size_t width, const T* factor, T* below, Load load) {
  const Tag<T> d;
  constexpr std::size_t step = static_cast<std::size_t>(kStep<T>);
  for (std::size_t k = 0; k < width; k += step) {
    const ExpDigamma<T> parts = exp_digamma_parts<T>(load(k));
    hn::StoreU(parts.above, d, row + k);
    hn::StoreU(parts.below, d, below + k);
  }
  const T least = smallest(below, width);
  const Vec<T> shift = hn::Set(d, least);
  for (std::size_t k = 0; k < width; k += step) {
    const Vec<T> whole = hn::Mul(hn::LoadU(d, row + k), hn::LoadU(d, factor + k));
    const Vec<T> part = exp<T>(hn::Sub(shift, hn::LoadU(d, below + k)));
    hn::StoreU(hn::Mul(whole, part), d, row + k);
  }
  return -least;
}

template <class T>
HWY_INLINE void load_all(const LazyTopics<T>& topics, const T* norm, std::size_t width,
                         const Document<T>& document, Inference<T>& out) {
  const Tag<T> d;
  const Vec<T> kept = set<T>(topics.kept), gained = set<T>(topics.gained),
               level = set<T>(topics.level);
  constexpr std::size_t kAhead = 4, kLine = 64 / sizeof(T);
  const std::size_t n = document.words.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      const std::size_t next = static_cast<std::size_t>(document.words[i + kAhead]) * width;
      for (std::size_t k = 0; k < width; k += kLine) {
        hwy::Prefetch(topics.base + next + k);
        if (topics.gain != nullptr) hwy::Prefetch(topics.gain + next + k);
      }
    }
    const std::size_t at = static_cast<std::size_t>(document.words[i]) * width;
    const T* HWY_RESTRICT base = topics.base + at;
    T* row = out.beta.data() + i * width;
    if (topics.gain == nullptr) {
      out.scale[i] = expect_row<T>(row, width, norm, out.below.data(), [&](std::size_t k) HWY_ATTR {
        return hn::Add(hn::Mul(kept, hn::LoadU(d, base + k)), level);
      });
    } else {
      const T* HWY_RESTRICT gain = topics.gain + at;
      out.scale[i] = expect_row<T>(row, width, norm, out.below.data(), [&](std::size_t k) HWY_ATTR {
        const Vec<T> changed = hn::Mul(gained, hn::LoadU(d, gain + k));
        return hn::Add(hn::Add(hn::Mul(kept, hn::LoadU(d, base + k)), changed), level);
      });
    }
  }
}

template <class T>
HWY_INLINE void expect_all(T* rows, std::size_t n, const T* norm, std::size_t width, T* scale) {
  const Tag<T> d;
  std::vector<T> below(width);
  for (std::size_t i = 0; i < n; ++i) {
    T* row = rows + i * width;
    scale[i] = expect_row<T>(row, width, norm, below.data(),
                             [&](std::size_t k) HWY_ATTR { return hn::LoadU(d, row + k); });
  }
}

// The sums of four sets of canonical lanes.
template <class T>
HWY_INLINE void fold_four(Vec<T> (*sums)[kParts<T>], T* out) {
  const Tag<T> d;
  for (int word = 0; word < 4; ++word) {
    for (int half = kParts<T> / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) sums[word][i] = hn::Add(sums[word][i], sums[word][i + half]);
    }
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4 && kStep<T> >= 4) {
    const hn::FixedTag<T, 4> d4;
    const auto four = [](auto v) HWY_ATTR {
      if constexpr (kStep<T> == 16) {
        const hn::FixedTag<T, 8> d8;
        const auto eight = hn::Add(hn::LowerHalf(d8, v), hn::UpperHalf(d8, v));
        const hn::FixedTag<T, 4> half;
        return hn::Add(hn::LowerHalf(half, eight), hn::UpperHalf(half, eight));
      } else if constexpr (kStep<T> == 8) {
        const hn::FixedTag<T, 4> half;
        return hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v));
      } else {
        return v;
      }
    };
    const auto a = four(sums[0][0]), b = four(sums[1][0]), c = four(sums[2][0]),
               e = four(sums[3][0]);
    // a0 b0 a1 b1, ...: lanes of the four words side by side.
    const auto ab_low = hn::InterleaveLower(d4, a, b), ab_high = hn::InterleaveUpper(d4, a, b);
    const auto ce_low = hn::InterleaveLower(d4, c, e), ce_high = hn::InterleaveUpper(d4, c, e);
    const auto ab = hn::Add(ab_low, ab_high);  // a0+a2 b0+b2 a1+a3 b1+b3
    const auto ce = hn::Add(ce_low, ce_high);
    const auto even = hn::ConcatLowerLower(d4, ce, ab), odd = hn::ConcatUpperUpper(d4, ce, ab);
    hn::StoreU(hn::Add(even, odd), d4, out);
    return;
  }
#endif
  for (int word = 0; word < 4; ++word) {
    T lanes[kLanes<T>];
    hn::StoreU(sums[word][0], d, lanes);
    for (int half = kStep<T> / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    out[word] = lanes[0];
  }
}

// share[i] = count[i] / (theta . beta[i]), and sums = sum over i of share[i] * beta[i].
template <class T>
HWY_INLINE void pass(std::size_t width, Inference<T>& x) {
  const Tag<T> d;
  constexpr std::size_t step = static_cast<std::size_t>(kStep<T>);
  constexpr std::size_t lanes = static_cast<std::size_t>(kLanes<T>);
  constexpr T kLeast = sizeof(T) == 4 ? T(1e-30) : T(1e-290);  // count / it is finite
  const T* HWY_RESTRICT theta = x.theta.data();
  T* HWY_RESTRICT total = x.sums.data();
  std::fill(x.sums.begin(), x.sums.end(), T{0});
  for (std::size_t i = 0; i < x.padded; i += 4) {
    const T* HWY_RESTRICT b0 = x.beta.data() + i * width;
    const T* HWY_RESTRICT b1 = b0 + width;
    const T* HWY_RESTRICT b2 = b1 + width;
    const T* HWY_RESTRICT b3 = b2 + width;
    Vec<T> sums[4][kParts<T>];
    for (int p = 0; p < kParts<T>; ++p) {
      sums[0][p] = sums[1][p] = sums[2][p] = sums[3][p] = hn::Zero(d);
    }
    for (std::size_t k = 0; k < width; k += lanes) {
      for (int p = 0; p < kParts<T>; ++p) {
        const std::size_t at = k + static_cast<std::size_t>(p) * step;
        const Vec<T> t = hn::LoadU(d, theta + at);
        sums[0][p] = hn::Add(sums[0][p], hn::Mul(t, hn::LoadU(d, b0 + at)));
        sums[1][p] = hn::Add(sums[1][p], hn::Mul(t, hn::LoadU(d, b1 + at)));
        sums[2][p] = hn::Add(sums[2][p], hn::Mul(t, hn::LoadU(d, b2 + at)));
        sums[3][p] = hn::Add(sums[3][p], hn::Mul(t, hn::LoadU(d, b3 + at)));
      }
    }
    T dots[4];
    fold_four<T>(sums, dots);
    T* share = x.share.data() + i;
    // A word that no topic of the document can have brought about teaches nothing.
    for (int j = 0; j < 4; ++j) {
      share[j] = x.counts[i + static_cast<std::size_t>(j)] / std::max(dots[j], kLeast);
    }
    const Vec<T> s0 = hn::Set(d, share[0]), s1 = hn::Set(d, share[1]), s2 = hn::Set(d, share[2]),
                 s3 = hn::Set(d, share[3]);
    for (std::size_t k = 0; k < width; k += step) {
      Vec<T> sum = hn::LoadU(d, total + k);
      sum = hn::Add(sum, hn::Mul(s0, hn::LoadU(d, b0 + k)));
      sum = hn::Add(sum, hn::Mul(s1, hn::LoadU(d, b1 + k)));
      sum = hn::Add(sum, hn::Mul(s2, hn::LoadU(d, b2 + k)));
      sum = hn::Add(sum, hn::Mul(s3, hn::LoadU(d, b3 + k)));
      hn::StoreU(sum, d, total + k);
    }
  }
}

// gamma = alpha + theta o sums; how much it changed, over all.
template <class T>
HWY_INLINE T renew(const T* alpha, std::size_t width, Inference<T>& x) {
  const Tag<T> d;
  constexpr std::size_t step = static_cast<std::size_t>(kStep<T>);
  Vec<T> change[kParts<T>];
  for (int p = 0; p < kParts<T>; ++p) change[p] = hn::Zero(d);
  for (std::size_t k = 0; k < width; k += static_cast<std::size_t>(kLanes<T>)) {
    for (int p = 0; p < kParts<T>; ++p) {
      const std::size_t at = k + static_cast<std::size_t>(p) * step;
      const Vec<T> gained =
          hn::Mul(hn::LoadU(d, x.theta.data() + at), hn::LoadU(d, x.sums.data() + at));
      const Vec<T> gamma = hn::Add(hn::LoadU(d, alpha + at), gained);
      change[p] = hn::Add(change[p], hn::Abs(hn::Sub(gamma, hn::LoadU(d, x.gamma.data() + at))));
      hn::StoreU(gamma, d, x.gamma.data() + at);
    }
  }
  T lanes[kLanes<T>];
  for (int p = 0; p < kParts<T>; ++p) hn::StoreU(change[p], d, lanes + p * kStep<T>);
  return fold<T>(lanes, [](T a, T b) { return a + b; });
}

template <class T>
HWY_INLINE void infer_one(const Document<T>& document, const T* alpha, std::size_t topics,
                          std::size_t width, const InferOptions& options, Inference<T>& x) {
  const Tag<T> d;
  const T each = static_cast<T>(document.tokens / static_cast<double>(topics));
  for (std::size_t k = 0; k < topics; ++k) x.gamma[k] = alpha[k] + each;
  std::fill(x.gamma.begin() + static_cast<std::ptrdiff_t>(topics), x.gamma.end(), T{0});
  const T enough = static_cast<T>(options.enough(document.tokens, topics));
  for (x.iterations = 1;; ++x.iterations) {
    x.theta_scale =
        expect_row<T>(x.theta.data(), width, x.ones.data(), x.below.data(),
                      [&](std::size_t k) HWY_ATTR { return hn::LoadU(d, x.gamma.data() + k); });
    pass<T>(width, x);
    if (renew<T>(alpha, width, x) <= enough || x.iterations >= options.max_iter) return;
  }
}

template <class T>
HWY_INLINE void learn(const Document<T>& document, const Inference<T>& x, T weight, T* gain) {
  const Tag<T> d;
  constexpr std::size_t step = static_cast<std::size_t>(kStep<T>);
  const std::size_t width = x.theta.size();
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    const Vec<T> share = hn::Set(d, x.share[i]), times = hn::Set(d, weight);
    T* HWY_RESTRICT to = gain + static_cast<std::size_t>(document.words[i]) * width;
    const T* HWY_RESTRICT beta = x.beta.data() + i * width;
    for (std::size_t k = 0; k < width; k += step) {
      const Vec<T> part = hn::Mul(hn::LoadU(d, x.theta.data() + k), hn::LoadU(d, beta + k));
      // A share may be near the largest number: times its part of the word first, which is small.
      const Vec<T> learned = hn::Mul(times, hn::Mul(share, part));
      hn::StoreU(hn::Add(hn::LoadU(d, to + k), learned), d, to + k);
    }
  }
}

void load32(const LazyTopics<float>& topics, const float* norm, std::size_t width,
            const Document<float>& document, Inference<float>& out) {
  load_all<float>(topics, norm, width, document, out);
}
void load64(const LazyTopics<double>& topics, const double* norm, std::size_t width,
            const Document<double>& document, Inference<double>& out) {
  load_all<double>(topics, norm, width, document, out);
}
void expect32(float* rows, std::size_t n, const float* norm, std::size_t width, float* scale) {
  expect_all<float>(rows, n, norm, width, scale);
}
void expect64(double* rows, std::size_t n, const double* norm, std::size_t width, double* scale) {
  expect_all<double>(rows, n, norm, width, scale);
}
void infer32(const Document<float>& document, const float* alpha, std::size_t topics,
             std::size_t width, const InferOptions& options, Inference<float>& out) {
  infer_one<float>(document, alpha, topics, width, options, out);
}
void infer64(const Document<double>& document, const double* alpha, std::size_t topics,
             std::size_t width, const InferOptions& options, Inference<double>& out) {
  infer_one<double>(document, alpha, topics, width, options, out);
}
void learn32(const Document<float>& document, const Inference<float>& x, float weight,
             float* gain) {
  learn<float>(document, x, weight, gain);
}
void learn64(const Document<double>& document, const Inference<double>& x, double weight,
             double* gain) {
  learn<double>(document, x, weight, gain);
}

}  // namespace meanwhile::learn::lda::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::lda {

HWY_EXPORT(load32);
HWY_EXPORT(load64);
HWY_EXPORT(expect32);
HWY_EXPORT(expect64);
HWY_EXPORT(infer32);
HWY_EXPORT(infer64);
HWY_EXPORT(learn32);
HWY_EXPORT(learn64);

template <class T>
void Inference<T>::prepare(const Document<T>& document, std::size_t width) {
  const std::size_t n = document.words.size();
  padded = (n + 3) / 4 * 4;
  if (beta.size() < padded * width) beta.resize(padded * width);
  std::fill(beta.data() + n * width, beta.data() + padded * width, T{0});
  share.resize(padded);
  scale.resize(padded);
  counts.assign(document.counts.begin(), document.counts.end());
  counts.resize(padded);
  if (gamma.size() == width) return;
  gamma.assign(width, T{0});
  theta.assign(width, T{0});
  sums.assign(width, T{0});
  ones.assign(width, T{1});
  below.assign(width, T{0});
}
template struct Inference<float>;
template struct Inference<double>;

void load_topics(const LazyTopics<float>& topics, std::span<const float> norm,
                 const Document<float>& document, Inference<float>& out) {
  out.prepare(document, norm.size());
  HWY_DYNAMIC_DISPATCH(load32)(topics, norm.data(), norm.size(), document, out);
}
void load_topics(const LazyTopics<double>& topics, std::span<const double> norm,
                 const Document<double>& document, Inference<double>& out) {
  out.prepare(document, norm.size());
  HWY_DYNAMIC_DISPATCH(load64)(topics, norm.data(), norm.size(), document, out);
}

void expect_rows(std::span<float> rows, std::span<const float> norm, std::span<float> scale) {
  HWY_DYNAMIC_DISPATCH(expect32)
  (rows.data(), scale.size(), norm.data(), norm.size(), scale.data());
}
void expect_rows(std::span<double> rows, std::span<const double> norm, std::span<double> scale) {
  HWY_DYNAMIC_DISPATCH(expect64)
  (rows.data(), scale.size(), norm.data(), norm.size(), scale.data());
}

void infer(const Document<float>& document, std::span<const float> alpha, std::size_t topics,
           const InferOptions& options, Inference<float>& out) {
  HWY_DYNAMIC_DISPATCH(infer32)(document, alpha.data(), topics, alpha.size(), options, out);
}
void infer(const Document<double>& document, std::span<const double> alpha, std::size_t topics,
           const InferOptions& options, Inference<double>& out) {
  HWY_DYNAMIC_DISPATCH(infer64)(document, alpha.data(), topics, alpha.size(), options, out);
}

void learn_words(const Document<float>& document, const Inference<float>& inferred, float weight,
                 float* gain) {
  HWY_DYNAMIC_DISPATCH(learn32)(document, inferred, weight, gain);
}
void learn_words(const Document<double>& document, const Inference<double>& inferred, double weight,
                 double* gain) {
  HWY_DYNAMIC_DISPATCH(learn64)(document, inferred, weight, gain);
}

}  // namespace meanwhile::learn::lda
#endif
