// Decimal numbers in text, rounded correctly to float or double.
//
// Most numbers in data files have a sign, up to eighteen digits, a point, and no exponent. For
// these a word of eight bytes is taken at a time: the digits in it are found and converted without
// a branch on how many there are, since that is what the processor cannot guess. The digits m and
// the number f of those behind the point give m / 10^f, which for m <= 2^53 and f <= 22 is one
// division of exact doubles, hence rounded correctly (Clinger 1990). A double is rounded on to
// float correctly too, unless it lies exactly half way between two floats. All else goes to
// fast_float.
#pragma once

#include <fast_float/fast_float.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace meanwhile::data {

static_assert(std::endian::native == std::endian::little);

// The digits at the start of p[0..8): how many, and their value. REQUIRES: 8 readable bytes.
struct Digits {
  std::uint64_t value;
  unsigned count;
};
inline Digits leading_digits(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  // The lowest byte that is no digit has its high bit set here; bytes above it may be anything.
  const std::uint64_t others =
      ((word + 0x4646464646464646) | (word - 0x3030303030303030)) & 0x8080808080808080;
  const auto bits = static_cast<unsigned>(others == 0 ? 64 : std::countr_zero(others) & ~7);
  if (bits == 0) return {0, 0};
  // As if there were zeros before the digits, eight in all; then pairs, fours and the eight.
  word = (word - 0x3030303030303030) << (64 - bits);
  word = (word * 10) + (word >> 8);
  constexpr std::uint64_t kMask = 0x000000FF000000FF;
  constexpr std::uint64_t kMultiplier1 = 0x000F424000000064;  // 100 + (1000000 << 32)
  constexpr std::uint64_t kMultiplier2 = 0x0000271000000001;  // 1 + (10000 << 32)
  word = (((word & kMask) * kMultiplier1) + (((word >> 16) & kMask) * kMultiplier2)) >> 32;
  return {word & 0xFFFFFFFF, bits / 8};
}

namespace detail {

inline constexpr std::array<std::uint64_t, 9> kPower = {1,      10,      100,      1000,     10000,
                                                        100000, 1000000, 10000000, 100000000};
inline constexpr std::array<double, 19> kPowerDouble = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                        1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                        1e14, 1e15, 1e16, 1e17, 1e18};

// The end of the number at `p`, null if there is none. Takes "nan", "inf" and a leading '+'.
template <class T>
const char* from_chars(const char* p, const char* end, T& value) {
  if (p != end && *p == '+' && end - p > 1 && p[1] != '-') ++p;
  const fast_float::from_chars_result result = fast_float::from_chars(p, end, value);
  return result.ec == std::errc() ? result.ptr : nullptr;
}

template <class T>
[[gnu::noinline]] const char* parse_any_number(const char* p, const char* end, T& value) {
  p = from_chars(p, end, value);
  return p != nullptr && std::isfinite(value) ? p : nullptr;
}

}  // namespace detail

// Reads the number at `p`; returns where it ends, or null if there is none or it is not finite as
// a T. REQUIRES: p < end, end[-1] is '\n', and 8 bytes behind `end` are readable.
template <class T>
inline const char* parse_number(const char* p, const char* end, T& value) {
  const char* const begin = p;
  const bool negative = *p == '-';
  p += negative || *p == '+' ? 1 : 0;
  std::uint64_t digits = 0;
  unsigned before = 0, after = 0;
  for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10; ++p) {
    digits = digits * 10 + digit;
    ++before;
  }
  if (*p == '.') {
    ++p;
    const Digits some = leading_digits(p);
    digits = digits * detail::kPower[some.count] + some.value;
    p += some.count;
    after = some.count;
    if (some.count == 8) {
      const Digits more = leading_digits(p);
      digits = digits * detail::kPower[more.count] + more.value;
      p += more.count;
      after += more.count;
      if (more.count == 8) return detail::parse_any_number(begin, end, value);
    }
  }
  const unsigned count = before + after;
  // `count - 1`: no digit at all is as much for the other function as too many.
  if (count - 1 >= 18 || digits > (std::uint64_t{1} << 53) || (*p | 0x20) == 'e') [[unlikely]] {
    return detail::parse_any_number(begin, end, value);
  }
  const double magnitude =
      static_cast<double>(static_cast<std::int64_t>(digits)) / detail::kPowerDouble[after];
  if constexpr (std::is_same_v<T, float>) {
    constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;
    constexpr std::uint64_t kHalf = std::uint64_t{1} << 28;
    if ((std::bit_cast<std::uint64_t>(magnitude) & kBelowFloat) == kHalf) [[unlikely]] {
      return detail::parse_any_number(begin, end, value);
    }
  }
  value = static_cast<T>(negative ? -magnitude : magnitude);
  return p;
}

}  // namespace meanwhile::data
