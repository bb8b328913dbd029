// exp and log of vectors of float64, per instruction set. Included by what is compiled for each.
//
// Only operations that every machine rounds alike (no fused multiply-add, no estimates), and no
// lane looks at another: results are the same bits for any width of vectors. Relative errors are at
// most 4e-16 (test/belief/belief_kernel_test.cc).
#if defined(MEANWHILE_BELIEF_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MEANWHILE_BELIEF_VECTOR_MATH_INL_H
#undef MEANWHILE_BELIEF_VECTOR_MATH_INL_H
#else
#define MEANWHILE_BELIEF_VECTOR_MATH_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::belief::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Vec = hn::Vec<Tag>;

HWY_INLINE Vec set(double value) { return hn::Set(Tag(), value); }

HWY_INLINE Vec line(double a, double b, Vec x) { return hn::Add(set(a), hn::Mul(set(b), x)); }
HWY_INLINE Vec join(Vec a, Vec b, Vec power) { return hn::Add(a, hn::Mul(b, power)); }

// REQUIRES: -708 <= x <= 709.
HWY_INLINE Vec exp(Vec x) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  // Adding and taking away 1.5 * 2^52 rounds to a whole number, which is left in the low bits.
  const Vec magic = set(0x1.8p52);
  const Vec marked = hn::Add(hn::Mul(x, set(1.44269504088896340736)), magic);
  const Vec n = hn::Sub(marked, magic);
  // ln 2 in two parts, the first short enough for its product to be exact.
  const Vec f = hn::Sub(hn::Sub(x, hn::Mul(n, set(0x1.62e42feep-1))),
                        hn::Mul(n, set(1.90821492927058770002e-10)));
  // By halves (Estrin): a chain of operations is short, so that several vectors are in flight.
  const Vec f2 = hn::Mul(f, f), f4 = hn::Mul(f2, f2), f8 = hn::Mul(f4, f4);
  const Vec low = join(join(line(1, 1, f), line(1. / 2, 1. / 6, f), f2),
                       join(line(1. / 24, 1. / 120, f), line(1. / 720, 1. / 5040, f), f2), f4);
  const Vec high =
      join(join(line(1. / 40320, 1. / 362880, f), line(1. / 3628800, 1. / 39916800, f), f2),
           line(1. / 479001600, 1. / 6227020800, f), f4);
  const Vec e = join(low, high, f8);
  const auto power = hn::Sub(hn::BitCast(di, marked), hn::BitCast(di, magic));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, e), hn::ShiftLeft<52>(power)));
}

// log(a / b), of a, b > 0 that are normal. One division: a is brought near b by a power of two,
// which the difference of their bits tells to 0.6, and log(a / b) = 2 atanh s, s = (a - b) / (a +
// b).
HWY_INLINE Vec log_ratio(Vec a, Vec b) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  constexpr std::uint64_t kBias = std::uint64_t{1024} << 52;
  const auto bits = hn::BitCast(du, a);
  const auto apart = hn::Sub(bits, hn::BitCast(du, b));
  const auto n = hn::ShiftRight<52>(hn::Add(apart, hn::Set(du, kBias + (std::uint64_t{1} << 51))));
  const auto near = hn::Sub(hn::Add(bits, hn::Set(du, kBias)), hn::ShiftLeft<52>(n));
  const Vec m = hn::BitCast(d, near);
  const Vec s = hn::Div(hn::Sub(m, b), hn::Add(m, b));  // |s| < 0.2003
  const Vec z = hn::Mul(s, s);
  const Vec z2 = hn::Mul(z, z), z4 = hn::Mul(z2, z2), z8 = hn::Mul(z4, z4);
  const Vec p = join(join(join(line(2. / 3, 2. / 5, z), line(2. / 7, 2. / 9, z), z2),
                          join(line(2. / 11, 2. / 13, z), line(2. / 15, 2. / 17, z), z2), z4),
                     join(line(2. / 19, 2. / 21, z), set(2. / 23), z2), z8);
  const Vec tail = hn::Mul(hn::Mul(s, z), p);
  // n + 1024 in the low bits of 1.5 * 2^52.
  const Vec magic = set(0x1.8p52);
  const Vec whole =
      hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(du, magic), n)), set(0x1.8p52 + 1024));
  return hn::Add(
      hn::Add(hn::Add(hn::Mul(whole, set(1.90821492927058770002e-10)), tail), hn::Add(s, s)),
      hn::Mul(whole, set(0x1.62e42feep-1)));
}

// REQUIRES: x > 0 and normal.
HWY_INLINE Vec log(Vec x) { return log_ratio(x, set(1)); }

}  // namespace meanwhile::learn::belief::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
