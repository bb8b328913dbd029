// Four rows at a time: four sums run side by side, are folded together, and the rows, still in the
// nearest cache, are added to `out`. A pass over n rows costs 4 n width operations.
#include "meanwhile/learn/factorize/als_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/factorize/als_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h.
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::factorize::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kLanes>;
using Vec = hn::Vec<Tag>;
constexpr std::size_t kStep = HWY_LANES(float) < kLanes ? HWY_LANES(float) : kLanes;
constexpr std::size_t kParts = kLanes / kStep;  // vectors that make the lanes

// Lane i of the lower half plus lane i of the upper one, down to one vector.
HWY_INLINE Vec fold_parts(Vec* sums) {
  for (std::size_t half = kParts / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] = hn::Add(sums[i], sums[i + half]);
  }
  return sums[0];
}

#if HWY_TARGET != HWY_SCALAR
// Halves are added until four lanes are left.
template <std::size_t kWidth, class V>
HWY_INLINE auto to_four(V v) {
  const hn::FixedTag<float, kWidth / 2> half;
  if constexpr (kWidth == 16) {
    return to_four<8>(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (kWidth == 8) {
    return hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v));
  } else {
    return v;
  }
}
#endif

// The sums of four vectors.
HWY_INLINE void fold_four(const Vec* sums, float* out) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kStep >= 4) {
    const hn::FixedTag<float, 4> d4;
    const auto a = to_four<kStep>(sums[0]), b = to_four<kStep>(sums[1]),
               c = to_four<kStep>(sums[2]), e = to_four<kStep>(sums[3]);
    const auto ab = hn::Add(hn::InterleaveLower(d4, a, b), hn::InterleaveUpper(d4, a, b));
    const auto ce = hn::Add(hn::InterleaveLower(d4, c, e), hn::InterleaveUpper(d4, c, e));
    const auto even = hn::ConcatLowerLower(d4, ce, ab), odd = hn::ConcatUpperUpper(d4, ce, ab);
    hn::StoreU(hn::Add(even, odd), d4, out);
    return;
  }
#endif
  const Tag d;
  for (int row = 0; row < 4; ++row) {
    float lanes[kLanes];
    hn::StoreU(sums[row], d, lanes);
    for (std::size_t half = kStep / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    out[row] = lanes[0];
  }
}

HWY_INLINE void dot_four(const float* const* rows, const float* HWY_RESTRICT p, std::size_t width,
                         float* out) {
  const Tag d;
  Vec sums[4][kParts];
  for (auto& row : sums) {
    for (Vec& sum : row) sum = hn::Zero(d);
  }
  for (std::size_t k = 0; k < width; k += kLanes) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t at = k + part * kStep;
      const Vec v = hn::LoadU(d, p + at);
      sums[0][part] = hn::Add(sums[0][part], hn::Mul(v, hn::LoadU(d, rows[0] + at)));
      sums[1][part] = hn::Add(sums[1][part], hn::Mul(v, hn::LoadU(d, rows[1] + at)));
      sums[2][part] = hn::Add(sums[2][part], hn::Mul(v, hn::LoadU(d, rows[2] + at)));
      sums[3][part] = hn::Add(sums[3][part], hn::Mul(v, hn::LoadU(d, rows[3] + at)));
    }
  }
  const Vec folded[4] = {fold_parts(sums[0]), fold_parts(sums[1]), fold_parts(sums[2]),
                         fold_parts(sums[3])};
  fold_four(folded, out);
}

HWY_INLINE void add_four(const float* const* rows, const float* by, std::size_t width,
                         float* HWY_RESTRICT out) {
  const Tag d;
  const Vec b0 = hn::Set(d, by[0]), b1 = hn::Set(d, by[1]), b2 = hn::Set(d, by[2]),
            b3 = hn::Set(d, by[3]);
  for (std::size_t k = 0; k < width; k += kStep) {
    Vec sum = hn::LoadU(d, out + k);
    sum = hn::Add(sum, hn::Mul(b0, hn::LoadU(d, rows[0] + k)));
    sum = hn::Add(sum, hn::Mul(b1, hn::LoadU(d, rows[1] + k)));
    sum = hn::Add(sum, hn::Mul(b2, hn::LoadU(d, rows[2] + k)));
    sum = hn::Add(sum, hn::Mul(b3, hn::LoadU(d, rows[3] + k)));
    hn::StoreU(sum, d, out + k);
  }
}

// Rows j to j + 3 of a list; those past its end are its last one, and count nothing.
HWY_INLINE void four_rows(const RowList& list, std::size_t j, const float** rows) {
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t at = std::min(j + i, list.count - 1);
    rows[i] = list.table + static_cast<std::size_t>(list.index[at]) * list.width;
  }
}

HWY_INLINE void fetch_ahead(const RowList& list, std::size_t j) {
  constexpr std::size_t kAhead = 8, kLine = 16;
  for (std::size_t i = j + kAhead; i < std::min(j + kAhead + 4, list.count); ++i) {
    const float* row = list.table + static_cast<std::size_t>(list.index[i]) * list.width;
    for (std::size_t k = 0; k < list.width; k += kLine) hwy::Prefetch(row + k);
  }
}

// Rows of up to four vectors that have all lanes: four rows, p and `out` fit into the registers
// together, so a row is read once, and `out` is written at the end. The sums are those of dot_four
// and add_four.
constexpr bool kHeld = kStep == kLanes;

template <std::size_t kVectors>
void project_held(const RowList& list, const float* p, const float* a, const float* b,
                  float* products, float* out) {
  const Tag d;
  Vec direction[kVectors], sum[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) {
    direction[k] = hn::LoadU(d, p + k * kLanes);
    sum[k] = hn::LoadU(d, out + k * kLanes);
  }
  for (std::size_t j = 0; j < list.count; j += 4) {
    const float* rows[4];
    fetch_ahead(list, j);
    four_rows(list, j, rows);
    Vec row[4][kVectors], dots[4];
    for (std::size_t i = 0; i < 4; ++i) {
      dots[i] = hn::Zero(d);
      for (std::size_t k = 0; k < kVectors; ++k) {
        row[i][k] = hn::LoadU(d, rows[i] + k * kLanes);
        dots[i] = hn::Add(dots[i], hn::Mul(direction[k], row[i][k]));
      }
    }
    fold_four(dots, products + j);
    const std::size_t here = std::min<std::size_t>(4, list.count - j);
    for (std::size_t i = 0; i < 4; ++i) {
      float by = 0;
      if (i < here) by = (b == nullptr ? 0 : b[j + i]) - a[j + i] * products[j + i];
      const Vec all = hn::Set(d, by);
      for (std::size_t k = 0; k < kVectors; ++k) {
        sum[k] = hn::Add(sum[k], hn::Mul(all, row[i][k]));
      }
    }
  }
  for (std::size_t k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, out + k * kLanes);
}

template <std::size_t kVectors>
void add_product_held(const float* matrix, const float* p, float* out) {
  const Tag d;
  Vec sum[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) sum[k] = hn::LoadU(d, out + k * kLanes);
  for (std::size_t i = 0; i < kVectors * kLanes; ++i) {
    const Vec by = hn::Set(d, p[i]);
    for (std::size_t k = 0; k < kVectors; ++k) {
      sum[k] = hn::Add(sum[k], hn::Mul(by, hn::LoadU(d, matrix + (i * kVectors + k) * kLanes)));
    }
  }
  for (std::size_t k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, out + k * kLanes);
}

void project_all(const RowList& list, const float* p, const float* a, const float* b,
                 float* products, float* out) {
  if constexpr (kHeld) {
    if (list.width == 4 * kLanes) return project_held<4>(list, p, a, b, products, out);
    if (list.width == 3 * kLanes) return project_held<3>(list, p, a, b, products, out);
    if (list.width == 2 * kLanes) return project_held<2>(list, p, a, b, products, out);
    if (list.width == 1 * kLanes) return project_held<1>(list, p, a, b, products, out);
  }
  const float* rows[4];
  for (std::size_t j = 0; j < list.count; j += 4) {
    fetch_ahead(list, j);
    four_rows(list, j, rows);
    dot_four(rows, p, list.width, products + j);
    float by[4] = {0, 0, 0, 0};
    const std::size_t here = std::min<std::size_t>(4, list.count - j);
    for (std::size_t i = 0; i < here; ++i) {
      by[i] = (b == nullptr ? 0 : b[j + i]) - a[j + i] * products[j + i];
    }
    add_four(rows, by, list.width, out);
  }
}

void multiply_all(const RowList& list, const float* p, float* products) {
  const float* rows[4];
  for (std::size_t j = 0; j < list.count; j += 4) {
    fetch_ahead(list, j);
    four_rows(list, j, rows);
    dot_four(rows, p, list.width, products + j);
  }
}

void add_product_all(const float* matrix, std::size_t width, const float* p, float* out) {
  if constexpr (kHeld) {
    if (width == 4 * kLanes) return add_product_held<4>(matrix, p, out);
    if (width == 2 * kLanes) return add_product_held<2>(matrix, p, out);
  }
  for (std::size_t i = 0; i < width; i += 4) {
    const float* row = matrix + i * width;
    const float* const rows[4] = {row, row + width, row + 2 * width, row + 3 * width};
    add_four(rows, p + i, width, out);
  }
}

void add_outer_all(const float* rows, std::size_t count, std::size_t width, float* gram) {
  for (std::size_t j = 0; j < count; j += 4) {
    const float* four[4];
    float on[4];
    for (std::size_t i = 0; i < 4; ++i) {
      four[i] = rows + std::min(j + i, count - 1) * width;
      on[i] = j + i < count ? 1.0F : 0.0F;
    }
    for (std::size_t k = 0; k < width; ++k) {
      const float by[4] = {on[0] * four[0][k], on[1] * four[1][k], on[2] * four[2][k],
                           on[3] * four[3][k]};
      add_four(four, by, width, gram + k * width);
    }
  }
}

float dot_one(const float* a, const float* b, std::size_t width) {
  const float* const rows[4] = {a, a, a, a};
  float sums[4];
  dot_four(rows, b, width, sums);
  return sums[0];
}

}  // namespace meanwhile::learn::factorize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::factorize {

HWY_EXPORT(project_all);
HWY_EXPORT(multiply_all);
HWY_EXPORT(add_product_all);
HWY_EXPORT(add_outer_all);
HWY_EXPORT(dot_one);

void project(const RowList& rows, const float* p, const float* a, const float* b, float* products,
             float* out) {
  HWY_DYNAMIC_DISPATCH(project_all)(rows, p, a, b, products, out);
}
void multiply(const RowList& rows, const float* p, float* products) {
  HWY_DYNAMIC_DISPATCH(multiply_all)(rows, p, products);
}
void add_product(const float* matrix, std::size_t width, const float* p, float* out) {
  HWY_DYNAMIC_DISPATCH(add_product_all)(matrix, width, p, out);
}
void add_outer(const float* rows, std::size_t count, std::size_t width, float* gram) {
  HWY_DYNAMIC_DISPATCH(add_outer_all)(rows, count, width, gram);
}
float dot(const float* a, const float* b, std::size_t width) {
  return HWY_DYNAMIC_DISPATCH(dot_one)(a, b, width);
}

}  // namespace meanwhile::learn::factorize
#endif
