#include "meanwhile/learn/belief/vector_math.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/belief/vector_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "meanwhile/learn/belief/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::belief::HWY_NAMESPACE {

void exp_all(double* x, std::size_t count) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const Vec v = hn::LoadU(d, x + i);
    const Vec bounded = hn::Min(hn::Max(v, set(-708)), set(709));
    hn::StoreU(hn::IfThenElseZero(hn::Gt(v, set(kZeroLog)), exp(bounded)), d, x + i);
  }
}

void log_all(double* x, std::size_t count) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(log(hn::LoadU(d, x + i)), d, x + i);
  }
}

void ratios_all(const double* in, const double* b, const double* c, const double* e,
                std::size_t count, double clip, double grid, double* out) {
  const Tag d;
  const Vec one = set(1), most = set(clip), least = set(-clip);
  // Adding and taking away 1.5 * 2^52 units rounds to the grid; without a grid, 0 changes nothing.
  const Vec magic = set(0x1.8p52 * grid);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    // 300 nats: products with ratios of up to 1e43 stay finite.
    const Vec bounded = hn::Min(hn::Max(hn::LoadU(d, in + i), set(-300)), set(300));
    const Vec odds = exp(bounded);
    const Vec above = hn::Add(hn::LoadU(d, b + i), hn::Mul(hn::LoadU(d, e + i), odds));
    const Vec below = hn::Add(one, hn::Mul(hn::LoadU(d, c + i), odds));
    const Vec message = hn::Min(hn::Max(log_ratio(above, below), least), most);
    hn::StoreU(hn::Sub(hn::Add(message, magic), magic), d, out + i);
  }
}

}  // namespace meanwhile::learn::belief::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::belief {

HWY_EXPORT(exp_all);
HWY_EXPORT(log_all);
HWY_EXPORT(ratios_all);

void exp_in_place(double* x, std::size_t count) { HWY_DYNAMIC_DISPATCH(exp_all)(x, count); }
void log_in_place(double* x, std::size_t count) { HWY_DYNAMIC_DISPATCH(log_all)(x, count); }
void ratio_messages(const double* in, const double* b, const double* c, const double* d,
                    std::size_t count, double clip, double grid, double* out) {
  HWY_DYNAMIC_DISPATCH(ratios_all)(in, b, c, d, count, clip, grid, out);
}

}  // namespace meanwhile::learn::belief
#endif
