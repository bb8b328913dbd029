#include "meanwhile/learn/lda/special.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "meanwhile/learn/lda/special.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "meanwhile/learn/lda/special-inl.h"

HWY_BEFORE_NAMESPACE();
namespace meanwhile::learn::lda::HWY_NAMESPACE {

enum class Function { kExp, kLog, kDigamma, kExpDigamma };

template <Function kFunction, class T>
HWY_INLINE void apply(const T* x, std::size_t n, T* out) {
  const Tag<T> d;
  const std::size_t step = hn::Lanes(d);
  const auto value = [](Vec<T> v) HWY_ATTR {
    if constexpr (kFunction == Function::kExp) return exp<T>(v);
    if constexpr (kFunction == Function::kLog) return log<T>(v);
    if constexpr (kFunction == Function::kDigamma) return digamma<T>(v);
    if constexpr (kFunction == Function::kExpDigamma) return exp_digamma<T>(v);
  };
  std::size_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(value(hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  T rest[kLanes<T>];
  std::fill(rest, rest + kLanes<T>, T{1});
  std::copy(x + i, x + n, rest);
  hn::StoreU(value(hn::LoadU(d, rest)), d, rest);
  std::copy(rest, rest + (n - i), out + i);
}

void exp32(const float* x, std::size_t n, float* out) { apply<Function::kExp>(x, n, out); }
void exp64(const double* x, std::size_t n, double* out) { apply<Function::kExp>(x, n, out); }
void log32(const float* x, std::size_t n, float* out) { apply<Function::kLog>(x, n, out); }
void log64(const double* x, std::size_t n, double* out) { apply<Function::kLog>(x, n, out); }
void digamma32(const float* x, std::size_t n, float* out) { apply<Function::kDigamma>(x, n, out); }
void digamma64(const double* x, std::size_t n, double* out) {
  apply<Function::kDigamma>(x, n, out);
}
void exp_digamma32(const float* x, std::size_t n, float* out) {
  apply<Function::kExpDigamma>(x, n, out);
}
void exp_digamma64(const double* x, std::size_t n, double* out) {
  apply<Function::kExpDigamma>(x, n, out);
}

}  // namespace meanwhile::learn::lda::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace meanwhile::learn::lda {

HWY_EXPORT(exp32);
HWY_EXPORT(exp64);
HWY_EXPORT(log32);
HWY_EXPORT(log64);
HWY_EXPORT(digamma32);
HWY_EXPORT(digamma64);
HWY_EXPORT(exp_digamma32);
HWY_EXPORT(exp_digamma64);

void vector_exp(std::span<const float> x, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(exp32)(x.data(), x.size(), out.data());
}
void vector_exp(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(exp64)(x.data(), x.size(), out.data());
}
void vector_log(std::span<const float> x, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(log32)(x.data(), x.size(), out.data());
}
void vector_log(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(log64)(x.data(), x.size(), out.data());
}
void vector_digamma(std::span<const float> x, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(digamma32)(x.data(), x.size(), out.data());
}
void vector_digamma(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(digamma64)(x.data(), x.size(), out.data());
}
void vector_exp_digamma(std::span<const float> x, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(exp_digamma32)(x.data(), x.size(), out.data());
}
void vector_exp_digamma(std::span<const double> x, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(exp_digamma64)(x.data(), x.size(), out.data());
}

}  // namespace meanwhile::learn::lda
#endif
