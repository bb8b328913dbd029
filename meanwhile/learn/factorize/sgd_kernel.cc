// Cost of a step with 32 factors: four loads and four stores of 64 bytes, and arithmetic that a
// processor does in about as many cycles. What takes longer is the way from a dot product to the
// rows: some 50 cycles, in which steps of other users and items are begun, as nothing waits for a
// branch. So ratings of one user must not follow each other (sgd_ratings.h).
#include "meanwhile/learn/factorize/sgd_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/factorize/sgd_kernel.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::factorize::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kSgdLanes>;
using Vec = hn::Vec<Tag>;
constexpr std::size_t kStep = HWY_MIN(HWY_LANES(float), kSgdLanes);
constexpr std::size_t kParts = kSgdLanes / kStep;
using One = hn::CappedTag<float, 1>;

// Lane i + lane i + half, until one is left.
template <class D, class V>
HWY_INLINE float folded(D, V v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(v);
#else
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return folded(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    const V pairs = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(pairs, hn::Shuffle2301(pairs)));
  }
#endif
}

// A square root without errno.
HWY_INLINE float root(float x) {
  const One d;
  return hn::GetLane(hn::Sqrt(hn::Set(d, x)));
}

// kWidth: of a row, or 0 where it is known at run time only.
template <std::size_t kWidth, bool kBiases, bool kLearn>
double steps(const TileRating* HWY_RESTRICT ratings, std::size_t count, const SgdRule& rule,
             SgdRows users, SgdRows items) {
  const Tag d;
  const std::size_t width = kWidth == 0 ? rule.width : kWidth;
  const float share = rule.share;
  double sum = 0;
  constexpr std::size_t kAhead = 8;
  for (std::size_t n = 0; n < count; ++n) {
    if (n + kAhead < count) {
      const TileRating next = ratings[n + kAhead];
      const float* const p = users.factors + next.user * width;
      const float* const q = items.factors + next.item * width;
      for (std::size_t f = 0; f < width; f += 16) {
        hwy::Prefetch(p + f);
        hwy::Prefetch(q + f);
      }
    }
    const TileRating rating = ratings[n];
    float* HWY_RESTRICT p = users.factors + rating.user * width;
    float* HWY_RESTRICT q = items.factors + rating.item * width;
    SgdRow& user = users.rows[rating.user];
    SgdRow& item = items.rows[rating.item];

    Vec sums[kParts];
    for (std::size_t i = 0; i < kParts; ++i) {
      sums[i] = hn::Mul(hn::LoadU(d, p + i * kStep), hn::LoadU(d, q + i * kStep));
    }
    for (std::size_t f = kSgdLanes; f < width; f += kSgdLanes) {
      for (std::size_t i = 0; i < kParts; ++i) {
        sums[i] = hn::Add(
            sums[i], hn::Mul(hn::LoadU(d, p + f + i * kStep), hn::LoadU(d, q + f + i * kStep)));
      }
    }
    for (std::size_t half = kParts / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] = hn::Add(sums[i], sums[i + half]);
    }
    const float dot = folded(d, sums[0]);

    float base = rating.value;
    if constexpr (kBiases) base = (base - user.bias) - item.bias;
    const float e = base - dot;
    const float square = e * e;
    sum += static_cast<double>(square);
    if constexpr (!kLearn) continue;

    const float h_p = rule.rate / root(user.squares), h_q = rule.rate / root(item.squares);
    const float keep_p = 1 - h_p * rule.l2, keep_q = 1 - h_q * rule.l2;
    const float go_p = h_p * e, go_q = h_q * e;
    const Vec a = hn::Set(d, keep_p), b = hn::Set(d, go_p);
    const Vec s = hn::Set(d, keep_q), t = hn::Set(d, go_q);
    for (std::size_t f = 0; f < width; f += kStep) {
      const Vec u = hn::LoadU(d, p + f), v = hn::LoadU(d, q + f);
      hn::StoreU(hn::Add(hn::Mul(a, u), hn::Mul(b, v)), d, p + f);
      hn::StoreU(hn::Add(hn::Mul(s, v), hn::Mul(t, u)), d, q + f);
    }
    if constexpr (kBiases) {
      user.bias = (1 - h_p * rule.bias_l2) * user.bias + go_p;
      item.bias = (1 - h_q * rule.bias_l2) * item.bias + go_q;
    }
    user.squares += share * square;
    item.squares += share * square;
  }
  return sum;
}

template <bool kBiases, bool kLearn>
double steps_of_width(const TileRating* ratings, std::size_t count, const SgdRule& rule,
                      SgdRows users, SgdRows items) {
  switch (rule.width) {
    case 16:
      return steps<16, kBiases, kLearn>(ratings, count, rule, users, items);
    case 32:
      return steps<32, kBiases, kLearn>(ratings, count, rule, users, items);
    case 64:
      return steps<64, kBiases, kLearn>(ratings, count, rule, users, items);
    default:
      return steps<0, kBiases, kLearn>(ratings, count, rule, users, items);
  }
}

double steps_of(const TileRating* ratings, std::size_t count, const SgdRule& rule, SgdRows users,
                SgdRows items) {
  return rule.biases ? steps_of_width<true, true>(ratings, count, rule, users, items)
                     : steps_of_width<false, true>(ratings, count, rule, users, items);
}

double errors_of(const TileRating* ratings, std::size_t count, const SgdRule& rule, SgdRows users,
                 SgdRows items) {
  return rule.biases ? steps_of_width<true, false>(ratings, count, rule, users, items)
                     : steps_of_width<false, false>(ratings, count, rule, users, items);
}

}  // namespace meanwhile::learn::factorize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::factorize {

HWY_EXPORT(steps_of);
HWY_EXPORT(errors_of);

double sgd_steps(std::span<const TileRating> ratings, const SgdRule& rule, SgdRows users,
                 SgdRows items) {
  return HWY_DYNAMIC_DISPATCH(steps_of)(ratings.data(), ratings.size(), rule, users, items);
}
double sgd_errors(std::span<const TileRating> ratings, const SgdRule& rule, SgdRows users,
                  SgdRows items) {
  return HWY_DYNAMIC_DISPATCH(errors_of)(ratings.data(), ratings.size(), rule, users, items);
}

}  // namespace meanwhile::learn::factorize
#endif
