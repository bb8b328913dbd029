// The screens, per instruction set: rows about the shift in float32 or in 8-bit steps, their scores
// against all centres, and the decision by scores, error bound and exact distances.
// Included by kernel.cc only, once for each instruction set; centers.h tells the mathematics.

#if defined(MEANWHILE_KMEANS_SCREEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MEANWHILE_KMEANS_SCREEN_INL_H
#undef MEANWHILE_KMEANS_SCREEN_INL_H
#else
#define MEANWHILE_KMEANS_SCREEN_INL_H
#endif

#include <hwy/highway.h>

#include "meanwhile/learn/kmeans/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::kmeans::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag32 = hn::ScalableTag<float>;
using Vec32 = hn::Vec<Tag32>;
constexpr std::int64_t kWidth = HWY_LANES(float);

// The screen's measures of the rows of a batch. First sums over the columns, in float32; then, by
// finish(), what follows from them for each row.
struct Seen {
  HWY_ALIGN float norm2[kBatch];    // |x'|^2, scaled
  HWY_ALIGN float missed2[kBatch];  // 8 bits only: |x' - quantised x'|^2

  // In units of the score:
  HWY_ALIGN double half_norm2[kBatch];  // |x'|^2 / 2
  HWY_ALIGN double error[kBatch];       // E
  double unit, per_unit;                // one score in x'.c', and the inverse
};

// x - shift in float32, with a relative error of at most 2^-24 (float64 rows subtract in float64).
HWY_INLINE Vec32 about(Tag32 d, const float* x, const float* shift) {
  return hn::Sub(hn::LoadU(d, x), hn::LoadU(d, shift));
}
HWY_INLINE Vec32 about(Tag32 d, const double* x, const float* shift) {
  HWY_ALIGN float moved[kWidth];
  for (std::int64_t i = 0; i < kWidth; ++i) moved[i] = static_cast<float>(x[i] - double{shift[i]});
  return hn::Load(d, moved);
}

// Calls use(offset, x' of kWidth columns) over a row; the last vector is padded with zeros.
template <class T, class Use>
HWY_INLINE void for_columns(const T* HWY_RESTRICT x, const float* HWY_RESTRICT shift,
                            std::int64_t D, Use use) {
  const Tag32 d;
  std::int64_t j = 0;
  for (; j + kWidth <= D; j += kWidth) use(j, about(d, x + j, shift + j));
  if (j == D) return;
#if HWY_MEM_OPS_MIGHT_FAULT
  constexpr bool kMasked = false;
#else
  constexpr bool kMasked = std::is_same_v<T, float>;
#endif
  if constexpr (kMasked) {
    const auto first = hn::FirstN(d, static_cast<std::size_t>(D - j));
    use(j, hn::Sub(hn::MaskedLoad(first, d, x + j), hn::MaskedLoad(first, d, shift + j)));
  } else {
    T rest[kWidth] = {};
    float rest_shift[kWidth] = {};
    for (std::int64_t i = 0; i < D - j; ++i) {
      rest[i] = x[j + i];
      rest_shift[i] = shift[j + i];
    }
    use(j, about(d, rest, rest_shift));
  }
}

// Writes scale * x' to `out`, padded to kWidth.
template <class T>
HWY_INLINE void see_float32(const Centers& c, const T* x, float* HWY_RESTRICT out, int i,
                            Seen& seen) {
  const Tag32 d;
  const Vec32 scale = hn::Set(d, c.scale);
  Vec32 norm2 = hn::Zero(d);
  for_columns(x, c.shift.data(), c.D, [&](std::int64_t j, Vec32 v) HWY_ATTR {
    v = hn::Mul(v, scale);
    hn::StoreU(v, d, out + j);
    norm2 = hn::MulAdd(v, v, norm2);
  });
  seen.norm2[i] = hn::GetLane(hn::SumOfLanes(d, norm2));
}

// Writes x' in steps of c.step_x, rounded and clipped to +-127, plus 128; past the end x' is 0.
template <class T>
HWY_INLINE void see_int8(const Centers& c, const T* x, std::uint8_t* HWY_RESTRICT out, int i,
                         Seen& seen) {
  const Tag32 d;
  const hn::Rebind<std::uint8_t, Tag32> d8;
  const Vec32 step = hn::Set(d, c.step_x), inverse = hn::Set(d, 1 / c.step_x);
  const Vec32 top = hn::Set(d, 127.0F), bottom = hn::Set(d, -127.0F), above = hn::Set(d, 128.0F);
  Vec32 norm2 = hn::Zero(d), missed2 = hn::Zero(d);
  for_columns(x, c.shift.data(), c.D, [&](std::int64_t j, Vec32 v) HWY_ATTR {
    const Vec32 level = hn::Round(hn::Min(hn::Max(hn::Mul(v, inverse), bottom), top));
    const Vec32 missed = hn::NegMulAdd(level, step, v);
    norm2 = hn::MulAdd(v, v, norm2);
    missed2 = hn::MulAdd(missed, missed, missed2);
    const auto stored = hn::ConvertTo(hn::Rebind<std::int32_t, Tag32>(), hn::Add(level, above));
    hn::StoreU(hn::DemoteTo(d8, stored), d8, out + j);
  });
  seen.norm2[i] = hn::GetLane(hn::SumOfLanes(d, norm2));
  seen.missed2[i] = hn::GetLane(hn::SumOfLanes(d, missed2));
}

// The error bounds, in double and rounded up. With u = 2^-24:
//   float32: a dot product of D terms is off by at most D u |x'| |c'|, and rounding x', c' and the
//     bias adds a few u more;
//   8 bits: x'.c' - q.p = (x' - q).c' + q.(c' - p) with |q| <= |x'| + |x' - q|, the integer
//   products
//     are exact, and rounding the bias to an integer costs half a unit;
//   both: |x'|^2 was summed in float32 over the lanes of a vector, and the exact value has rounding
//     of its own, D 2^-53 of (|x'| + |c'|)^2.
HWY_INLINE void finish(const Centers& c, std::int64_t n, Seen& seen) {
  const bool int8 = c.screen == Screen::kInt8;
  const double scale = int8 ? 1.0 : double{c.scale};
  seen.unit = int8 ? double{c.step_x} * double{c.step_c} : 1 / (scale * scale);
  seen.per_unit = 1 / seen.unit;
  const double per_unit = int8 ? seen.per_unit : 1.0;
  const double reach = c.max_norm * scale, max_error = c.max_error;
  const auto terms = static_cast<double>(c.D) + 8;
  const double slack = (static_cast<double>(c.D) / static_cast<double>(kWidth) + 20) * 0x1p-23;
  for (std::int64_t i = 0; i < n; ++i) {
    const double norm2 = double{seen.norm2[i]};
    const double norm = std::sqrt(norm2) * (1 + slack);
    double error = norm2 * slack + terms * 0x1p-50 * (norm + reach) * (norm + reach);
    if (int8) {
      const double missed = std::sqrt(double{seen.missed2[i]}) * (1 + slack) + 0x1p-22 * norm;
      error += missed * reach + (norm + missed) * max_error;
    } else {
      error += terms * 0x1p-23 * (norm + reach) * reach;
    }
    seen.half_norm2[i] = norm2 / 2 * per_unit;
    seen.error[i] = error * per_unit + (int8 ? 1.0 : 1e-30);
  }
}

// Scores of Rows rows by Vectors vectors of centres, float32.
template <int Rows, int Vectors>
HWY_INLINE void tile(const float* HWY_RESTRICT panel, std::int64_t D,
                     const float* HWY_RESTRICT rows, std::int64_t row_stride,
                     const float* HWY_RESTRICT bias, float* HWY_RESTRICT scores,
                     std::int64_t score_stride) {
  const Tag32 d;
  Vec32 sums[Rows][Vectors];
  HWY_KMEANS_UNROLL for (int r = 0; r < Rows; ++r) {
    HWY_KMEANS_UNROLL for (int v = 0; v < Vectors; ++v) sums[r][v] =
        hn::LoadU(d, bias + v * kWidth);
  }
  for (std::int64_t j = 0; j < D; ++j) {
    Vec32 centers[Vectors];
    HWY_KMEANS_UNROLL for (int v = 0; v < Vectors; ++v) {
      centers[v] = hn::LoadU(d, panel + j * kPanel + v * kWidth);
    }
    HWY_KMEANS_UNROLL for (int r = 0; r < Rows; ++r) {
      const Vec32 x = hn::Set(d, rows[r * row_stride + j]);
      HWY_KMEANS_UNROLL for (int v = 0; v < Vectors; ++v) {
        sums[r][v] = hn::MulAdd(x, centers[v], sums[r][v]);
      }
    }
  }
  HWY_KMEANS_UNROLL for (int r = 0; r < Rows; ++r) {
    HWY_KMEANS_UNROLL for (int v = 0; v < Vectors; ++v) {
      hn::StoreU(sums[r][v], d, scores + r * score_stride + v * kWidth);
    }
  }
}

// scores[i][k - begin] for the centres [begin, end); rows % kTileRows == 0.
constexpr int kTileRows = HWY_LANES(float) >= 16 ? 12 : 4;
HWY_INLINE void float32_scores(const Centers& c, const float* rows, std::int64_t row_stride,
                               std::int64_t n, std::int64_t begin, std::int64_t end,
                               float* scores) {
  for (std::int64_t p = begin; p < end; p += kPanel) {
    const float* panel = c.panels.data() + p * c.D;
    for (std::int64_t r = 0; r < n; r += kTileRows) {
      const std::int64_t last = std::min(end - p, kPanel);
      std::int64_t k = 0;
      for (; k + 2 * kWidth <= last; k += 2 * kWidth) {
        tile<kTileRows, 2>(panel + k, c.D, rows + r * row_stride, row_stride, c.bias.data() + p + k,
                           scores + r * (end - begin) + (p + k - begin), end - begin);
      }
      for (; k < last; k += kWidth) {
        tile<kTileRows, 1>(panel + k, c.D, rows + r * row_stride, row_stride, c.bias.data() + p + k,
                           scores + r * (end - begin) + (p + k - begin), end - begin);
      }
    }
  }
}

}  // namespace meanwhile::learn::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
