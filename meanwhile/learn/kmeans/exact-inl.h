// The canonical float64 arithmetic, per instruction set. Included by kernel.cc only, once for each.
//
// Sums run in 16 lanes (column j adds to lane j % 16) that are folded in halves at the end, without
// fused multiply-add: the same bits whatever the width of the machine's vectors.

#if defined(MEANWHILE_KMEANS_EXACT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MEANWHILE_KMEANS_EXACT_INL_H
#undef MEANWHILE_KMEANS_EXACT_INL_H
#else
#define MEANWHILE_KMEANS_EXACT_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::kmeans::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag64 = hn::CappedTag<double, kLanes>;
using Vec64 = hn::Vec<Tag64>;
constexpr int kStep = HWY_LANES(double) < kLanes ? HWY_LANES(double) : kLanes;
constexpr int kSums = kLanes / kStep;

HWY_INLINE Vec64 load64(Tag64 d, const double* from) { return hn::LoadU(d, from); }
HWY_INLINE Vec64 load64(Tag64 d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Tag64>(), from));
}

// The first n of the values, then zeros; never reads past them.
template <class T>
HWY_INLINE Vec64 load64_first(Tag64 d, const T* from, std::int64_t n) {
// The scalar target loads what the mask leaves out.
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
  T padded[kStep] = {};
  for (std::int64_t i = 0; i < std::min<std::int64_t>(n, kStep); ++i) padded[i] = from[i];
  return load64(d, padded);
#else
  const hn::Rebind<T, Tag64> dt;
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(n, 0, kStep));
  const auto values = hn::MaskedLoad(hn::FirstN(dt, count), dt, from);
  if constexpr (std::is_same_v<T, double>) return values;
  if constexpr (std::is_same_v<T, float>) return hn::PromoteTo(d, values);
#endif
}

// The sum of term(x_j, j), called for kStep columns from j on. Past the end x is zero, and so must
// be the term.
template <class T, class Term>
HWY_INLINE double canonical_sum(const T* HWY_RESTRICT x, std::int64_t D, Term term) {
  const Tag64 d;
  Vec64 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  std::int64_t j = 0;
  for (; j + kLanes <= D; j += kLanes) {
    for (int i = 0; i < kSums; ++i) {
      const std::int64_t at = j + i * kStep;
      sums[i] = hn::Add(sums[i], term(load64(d, x + at), at));
    }
  }
  if (j < D) {
    for (int i = 0; i < kSums; ++i) {
      const std::int64_t at = j + i * kStep;
      sums[i] = hn::Add(sums[i], term(load64_first(d, x + at, D - at), at));
    }
  }
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] = hn::Add(sums[i], sums[i + half]);
  }
  double lanes[kStep];
  hn::StoreU(sums[0], d, lanes);
  for (int half = kStep / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// The value that the nearest centre minimises; c is padded to kLanes.
template <class T>
HWY_INLINE double value_of(Metric metric, const T* x, const double* HWY_RESTRICT c,
                           std::int64_t D) {
  const Tag64 d;
  if (metric == Metric::kCosine) {
    return -canonical_sum(
        x, D, [d, c](Vec64 v, std::int64_t j) HWY_ATTR { return hn::Mul(v, hn::LoadU(d, c + j)); });
  }
  return canonical_sum(x, D, [d, c](Vec64 v, std::int64_t j) HWY_ATTR {
    const Vec64 difference = hn::Sub(v, hn::LoadU(d, c + j));
    return hn::Mul(difference, difference);
  });
}

// 1 / |x|, or 0 for a row of zeros.
template <class T>
HWY_INLINE double inverse_length(const T* x, std::int64_t D) {
  const double norm2 =
      canonical_sum(x, D, [](Vec64 v, std::int64_t) HWY_ATTR { return hn::Mul(v, v); });
  return norm2 > 0 ? 1 / std::sqrt(norm2) : 0.0;
}

// |x - shift|^2. `shift` has D values and no padding.
template <class T>
HWY_INLINE double norm2_about(const T* x, const double* HWY_RESTRICT shift, std::int64_t D) {
  const Tag64 d;
  return canonical_sum(x, D, [d, shift, D](Vec64 v, std::int64_t j) HWY_ATTR {
    const Vec64 m = j + kStep <= D ? hn::LoadU(d, shift + j) : load64_first(d, shift + j, D - j);
    const Vec64 difference = hn::Sub(v, m);
    return hn::Mul(difference, difference);
  });
}

template <class T>
HWY_INLINE void reach_of(const T* HWY_RESTRICT x, const double* HWY_RESTRICT shift, std::int64_t D,
                         double* HWY_RESTRICT reach) {
  const Tag64 d;
  std::int64_t j = 0;
  for (; j + kStep <= D; j += kStep) {
    const Vec64 off = hn::Abs(hn::Sub(load64(d, x + j), hn::LoadU(d, shift + j)));
    hn::StoreU(hn::Max(off, hn::LoadU(d, reach + j)), d, reach + j);
  }
  for (; j < D; ++j) reach[j] = std::max(reach[j], std::abs(static_cast<double>(x[j]) - shift[j]));
}

// A double v below 2^51 in size plus kMagic has v rounded to an integer in its low bits.
constexpr double kMagic = 0x1.8p52;

// The integers nearest to factor * (x - shift) * scale, taken from one row of cells (unless null)
// and added to another. Scaling by a power of two is exact, so every instruction set rounds alike.
template <class T>
HWY_INLINE void move_row(const T* HWY_RESTRICT x, double factor, const double* HWY_RESTRICT shift,
                         const double* HWY_RESTRICT scale, std::int64_t D, double* from,
                         double* to) {
  const Tag64 d;
  const hn::RebindToSigned<Tag64> di;
  const Vec64 by = hn::Set(d, factor), magic = hn::Set(d, kMagic);
  std::int64_t j = 0;
  for (; j + kStep <= D; j += kStep) {
    const Vec64 off = hn::Mul(by, hn::Sub(load64(d, x + j), hn::LoadU(d, shift + j)));
    const Vec64 marked = hn::Add(hn::Mul(off, hn::LoadU(d, scale + j)), magic);
    const auto whole = hn::Sub(hn::BitCast(di, marked), hn::BitCast(di, magic));
    const auto add = [&](double* cells, auto value) HWY_ATTR {
      const auto old = hn::BitCast(di, hn::LoadU(d, cells));
      hn::StoreU(hn::BitCast(d, hn::Add(old, value)), d, cells);
    };
    if (from != nullptr) add(from + j, hn::Neg(whole));
    add(to + j, whole);
  }
  for (; j < D; ++j) {
    const double off = factor * (static_cast<double>(x[j]) - shift[j]);
    const double marked = off * scale[j] + kMagic;
    const auto whole = std::bit_cast<std::int64_t>(marked) - std::bit_cast<std::int64_t>(kMagic);
    const auto add = [](double& cell, std::int64_t value) {
      cell = std::bit_cast<double>(std::bit_cast<std::int64_t>(cell) + value);
    };
    if (from != nullptr) add(from[j], -whole);
    add(to[j], whole);
  }
}

}  // namespace meanwhile::learn::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
