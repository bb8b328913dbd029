// exp, log and digamma of vectors, per instruction set. Included by what is compiled for each.
//
// Only operations that every machine rounds alike (no fused multiply-add, no estimates of
// reciprocals), so results are the same bits for any width of vectors. Errors, over the whole range
// (lda_special_test.cc):
//
//                 float      double
//   exp           3e-7       4e-16      relative
//   log           2e-7       4e-16      relative
//   exp(digamma)  5e-7       2e-15      relative, times 1 + 1/x, its condition
//   digamma       1e-6       4e-15      absolute below 1, relative above
//
// digamma goes up by psi(x) = psi(x + m) - sum of 1 / (x + i), and there by
// exp(psi(y + 1/2)) = y + 1/(24 y) - 37/(5760 y^3) + 10313/(2903040 y^5) - ...: no logarithm is
// needed for exp(psi), which is what inference asks for, and no branch.
#if defined(MEANWHILE_LDA_SPECIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MEANWHILE_LDA_SPECIAL_INL_H
#undef MEANWHILE_LDA_SPECIAL_INL_H
#else
#define MEANWHILE_LDA_SPECIAL_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::lda::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The canonical width: 64 bytes, whatever the machine has.
template <class T>
constexpr int kLanes = static_cast<int>(64 / sizeof(T));
template <class T>
using Tag = hn::CappedTag<T, static_cast<std::size_t>(kLanes<T>)>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

template <class T>
HWY_INLINE Vec<T> set(double value) {
  return hn::Set(Tag<T>(), static_cast<T>(value));
}

// a + x (b + x (c + ...)).
template <class T>
HWY_INLINE Vec<T> polynomial(Vec<T>, double last) {
  return set<T>(last);
}
template <class T, class... More>
HWY_INLINE Vec<T> polynomial(Vec<T> x, double first, double second, More... more) {
  return hn::Add(set<T>(first), hn::Mul(x, polynomial<T>(x, second, more...)));
}

// REQUIRES: x <= 88 (709). A value below -87 (-708) gives the result there.
template <class T>
HWY_INLINE Vec<T> exp(Vec<T> x) {
  const Tag<T> d;
  const hn::RebindToSigned<Tag<T>> di;
  constexpr bool kFloat = sizeof(T) == 4;
  x = hn::Min(hn::Max(x, set<T>(kFloat ? -87 : -708)), set<T>(kFloat ? 88 : 709));
  // Adding and taking away 1.5 * 2^mantissa rounds to a whole number, which is left in the low
  // bits.
  const Vec<T> magic = set<T>(kFloat ? 0x1.8p23 : 0x1.8p52);
  const Vec<T> marked = hn::Add(hn::Mul(x, set<T>(1.44269504088896340736)), magic);
  const Vec<T> n = hn::Sub(marked, magic);
  // ln 2 in two parts, the first short enough for its product to be exact.
  const Vec<T> high = set<T>(kFloat ? 0x1.63p-1 : 0x1.62e42feep-1);
  const Vec<T> low = set<T>(kFloat ? -2.12194440e-4 : 1.90821492927058770002e-10);
  const Vec<T> f = hn::Sub(hn::Sub(x, hn::Mul(n, high)), hn::Mul(n, low));
  Vec<T> e;
  if constexpr (kFloat) {
    e = polynomial<T>(f, 1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720);
  } else {
    e = polynomial<T>(f, 1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320,
                      1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800);
  }
  const auto power = hn::Sub(hn::BitCast(di, marked), hn::BitCast(di, magic));
  const auto bits = hn::Add(hn::BitCast(di, e), hn::ShiftLeft < kFloat ? 23 : 52 > (power));
  return hn::BitCast(d, bits);
}

// REQUIRES: x > 0 and normal.
template <class T>
HWY_INLINE Vec<T> log(Vec<T> x) {
  const Tag<T> d;
  const hn::RebindToSigned<Tag<T>> di;
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr int kMantissa = kFloat ? 23 : 52;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)): n counts from the bits of sqrt(1/2).
  using I = hn::TFromD<decltype(di)>;
  const auto root = hn::Set(di, static_cast<I>(kFloat ? I{0x3f3504f3} : I(0x3fe6a09e667f3bcd)));
  const auto off = hn::Sub(hn::BitCast(di, x), root);
  const auto n = hn::ShiftRight<kMantissa>(off);
  const Vec<T> m = hn::BitCast(d, hn::Sub(hn::BitCast(di, x), hn::ShiftLeft<kMantissa>(n)));
  // log m = 2 atanh s, s = (m - 1) / (m + 1), |s| < 0.1716.
  const Vec<T> s = hn::Div(hn::Sub(m, set<T>(1)), hn::Add(m, set<T>(1)));
  const Vec<T> z = hn::Mul(s, s);
  Vec<T> p;
  if constexpr (kFloat) {
    p = polynomial<T>(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9);
  } else {
    p = polynomial<T>(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17,
                      2. / 19, 2. / 21);
  }
  const Vec<T> tail = hn::Mul(hn::Mul(s, z), p);
  // Whole numbers of up to 2^10 become floating point by the same magic.
  const Vec<T> magic = set<T>(kFloat ? 0x1.8p23 : 0x1.8p52);
  const Vec<T> whole = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(di, magic), n)), magic);
  const Vec<T> high = set<T>(kFloat ? 0x1.63p-1 : 0x1.62e42feep-1);
  const Vec<T> low = set<T>(kFloat ? -2.12194440e-4 : 1.90821492927058770002e-10);
  return hn::Add(hn::Add(hn::Add(hn::Mul(whole, low), tail), hn::Add(s, s)), hn::Mul(whole, high));
}

// exp(digamma(x)) = above * exp(-below), for x > 0.
template <class T>
struct ExpDigamma {
  Vec<T> above, below;
};
template <class T>
HWY_INLINE ExpDigamma<T> exp_digamma_parts(Vec<T> x) {
  const Vec<T> one = set<T>(1);
  if constexpr (sizeof(T) == 4) {
    // 1/x + 1/(x+1) + 1/(x+2) + 1/(x+3), over one denominator q (q + 2), q = x (x + 3).
    // Bounds keep that finite; beyond them the sum is nothing, or more than exp can tell.
    const Vec<T> z = hn::Max(hn::Min(x, set<T>(1e9)), set<T>(1e-30));
    const Vec<T> q = hn::Mul(z, hn::Add(z, set<T>(3)));
    const Vec<T> above =
        hn::Mul(hn::Add(hn::Add(z, z), set<T>(3)), hn::Add(hn::Add(q, q), set<T>(2)));
    const Vec<T> below = hn::Div(above, hn::Mul(q, hn::Add(q, set<T>(2))));
    const Vec<T> y = hn::Add(x, set<T>(3.5));
    const Vec<T> r = hn::Div(one, y);
    const Vec<T> p = polynomial<T>(hn::Mul(r, r), 1. / 24, -37. / 5760, 10313. / 2903040);
    return {hn::Add(y, hn::Mul(r, p)), below};
  } else {
    // The same with 16 terms, in pairs: (x + i) (x + 15 - i) = q + i (15 - i), q = x (x + 15).
    const Vec<T> z = hn::Max(hn::Min(x, set<T>(1e150)), set<T>(1e-300));
    const Vec<T> q = hn::Mul(z, hn::Add(z, set<T>(15)));
    Vec<T> sum = hn::Div(one, q);
    for (int i = 1; i < 8; ++i) {
      sum = hn::Add(sum, hn::Div(one, hn::Add(q, set<T>(i * (15 - i)))));
    }
    const Vec<T> below = hn::Mul(sum, hn::Add(hn::Add(z, z), set<T>(15)));
    const Vec<T> y = hn::Add(x, set<T>(15.5));
    const Vec<T> r = hn::Div(one, y);
    const Vec<T> p = polynomial<T>(hn::Mul(r, r), 1. / 24, -37. / 5760, 10313. / 2903040,
                                   -5509121. / 1393459200, 2709398569. / 367873228800);
    return {hn::Add(y, hn::Mul(r, p)), below};
  }
}

template <class T>
HWY_INLINE Vec<T> exp_digamma(Vec<T> x) {
  const ExpDigamma<T> parts = exp_digamma_parts<T>(x);
  return hn::Mul(parts.above, exp<T>(hn::Neg(parts.below)));
}

template <class T>
HWY_INLINE Vec<T> digamma(Vec<T> x) {
  const ExpDigamma<T> parts = exp_digamma_parts<T>(x);
  return hn::Sub(log<T>(parts.above), parts.below);
}

// Sums and the like of canonical lanes: halves are folded until one is left.
template <class T, class Op>
HWY_INLINE T fold(const T* lanes, Op op) {
  T values[kLanes<T>];
  for (int i = 0; i < kLanes<T>; ++i) values[i] = lanes[i];
  for (int half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) values[i] = op(values[i], values[i + half]);
  }
  return values[0];
}

}  // namespace meanwhile::learn::lda::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
