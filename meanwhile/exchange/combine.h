// How two updates become one, element by element. Every function here is pure.
//
//   kAdd  a + b. float64 and float32 round as their type does. int64 is exact, and overflow throws.
//   kMin  the smaller of the two. NaN is smaller than everything, and -0.0 smaller than +0.0, so
//         that the result does not depend on the order.
//
// The identity (0, or the largest value) stands for a value that was never touched: adding +0.0 to
// -0.0 gives +0.0, so that sums of sparse and dense updates agree in every bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace meanwhile::exchange {

enum class Element : std::uint8_t { kFloat64, kFloat32, kInt64 };
enum class Combine : std::uint8_t { kAdd, kMin };

template <class T>
inline constexpr Element kElementOf = std::is_same_v<T, double>  ? Element::kFloat64
                                      : std::is_same_v<T, float> ? Element::kFloat32
                                                                 : Element::kInt64;
inline constexpr std::size_t element_bytes(Element element) {
  return element == Element::kFloat32 ? 4 : 8;
}

template <class T>
constexpr T identity(Combine combine) {
  using Limits = std::numeric_limits<T>;
  if (combine == Combine::kAdd) return T{0};
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

// THROWS Error(kFailed).
[[noreturn]] void throw_overflow();

// out[i] = a[i] combined with b[i]. `out` may be `a`. THROWS Error(kFailed) when int64 overflows.
template <class T>
void combine(Combine how, const T* a, const T* b, T* out, std::size_t size) {
  if (how == Combine::kMin) {
    for (std::size_t i = 0; i < size; ++i) out[i] = minimum(a[i], b[i]);
  } else if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < size; ++i) out[i] = a[i] + b[i];
  } else {
    // Overflow: both terms have the sign that the sum has not. g++ 12 at -O3 gets
    // __builtin_add_overflow wrong where `out` is `a`.
    std::uint64_t overflow = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto x = static_cast<std::uint64_t>(a[i]), y = static_cast<std::uint64_t>(b[i]);
      const std::uint64_t sum = x + y;
      overflow |= (x ^ sum) & (y ^ sum);
      out[i] = static_cast<T>(sum);
    }
    if ((overflow >> 63) != 0) throw_overflow();
  }
}

// values[i] combined with a value that was never touched.
template <class T>
void combine_with_absent(Combine how, T* values, std::size_t size) {
  const T absent = identity<T>(how);
  if constexpr (std::is_floating_point_v<T>) {
    if (how == Combine::kAdd) {
      for (std::size_t i = 0; i < size; ++i) values[i] += absent;
    } else {
      for (std::size_t i = 0; i < size; ++i) values[i] = minimum(values[i], absent);
    }
  }
}

// Calls use(T{}) with the type of the element.
template <class Use>
decltype(auto) with_element(Element element, const Use& use) {
  switch (element) {
    case Element::kFloat32:
      return use(float{});
    case Element::kInt64:
      return use(std::int64_t{});
    case Element::kFloat64:
      break;
  }
  return use(double{});
}

}  // namespace meanwhile::exchange
