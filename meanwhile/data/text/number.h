// Decimal numbers in text, rounded correctly to float or double.
//
// Most numbers in data files have a sign, up to eight digits before and behind a point, and no
// exponent. The fast path loads sixteen bytes at once: one comparison finds where digits end, and
// digits are converted without a branch on their number, which the processor cannot predict. The
// digits m and the number f of those behind the point give m / 10^f, which for m <= 2^53 and f <=
// 22 is one division of exact doubles, hence rounded correctly (Clinger, "How to read floating
// point numbers accurately", 1990). A double is rounded on to float correctly too, unless it lies
// exactly half way between two floats. All other numbers go to fast_float.
#pragma once

#include <fast_float/fast_float.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace meanwhile::data {

static_assert(std::endian::native == std::endian::little);

// Readable bytes that the functions below require behind the end of a text.
inline constexpr std::size_t kNumberPadding = 16;

// Bit i is set if p[i] is not a digit. REQUIRES: 16 readable bytes.
inline unsigned other_bytes(const char* p) {
#if defined(__SSE2__)
  // Signed bytes are compared, so the digits are moved to the upper end of their range.
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i moved = _mm_add_epi8(text, _mm_set1_epi8(127 - '9'));
  const __m128i others = _mm_cmplt_epi8(moved, _mm_set1_epi8(127 - 9));
  return static_cast<unsigned>(_mm_movemask_epi8(others));
#else
  unsigned others = 0;
  for (unsigned i = 0; i < 16; ++i) others |= unsigned{p[i] < '0' || p[i] > '9'} << i;
  return others;
#endif
}

// The position of the lowest bit, 32 if there is none; and all bits but the lowest.
inline unsigned lowest(unsigned bits) { return static_cast<unsigned>(std::countr_zero(bits)); }
inline unsigned without_lowest(unsigned bits) { return bits & (bits - 1); }

// The value of the first `count` bytes in memory of `word`, which are digits. REQUIRES: 1 <= count
// <= 8.
inline std::uint64_t digits_value(std::uint64_t word, unsigned count) {
  // Zeros are put first to make eight digits; then pairs, fours and all eight are combined.
  word = (word - 0x3030303030303030) << (64 - 8 * count);
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t kPairs = 0x000000FF000000FF;
  constexpr std::uint64_t kUpper = 100 + (std::uint64_t{1000000} << 32);
  constexpr std::uint64_t kLower = 1 + (std::uint64_t{10000} << 32);
  word = ((word & kPairs) * kUpper + ((word >> 16) & kPairs) * kLower) >> 32;
  return word & 0xFFFFFFFF;
}

inline std::uint64_t eight_bytes(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

namespace detail {

inline constexpr std::array<std::uint64_t, 9> kPower = {1,      10,      100,      1000,     10000,
                                                        100000, 1000000, 10000000, 100000000};
inline constexpr std::array<double, 9> kPowerDouble = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

// The end of the number at `p`, null if there is none. Takes "nan", "inf" and a leading '+'.
template <class T>
const char* from_chars(const char* p, const char* end, T& value) {
  if (p != end && *p == '+' && end - p > 1 && p[1] != '-') ++p;
  const fast_float::from_chars_result result = fast_float::from_chars(p, end, value);
  return result.ec == std::errc() ? result.ptr : nullptr;
}

// parse_number without the fast path: takes any number, and any text that is not a number.
template <class T>
[[gnu::noinline]] const char* parse_any_number(const char* p, const char* end, T& value) {
  p = from_chars(p, end, value);
  return p != nullptr && std::isfinite(value) ? p : nullptr;
}

}  // namespace detail

// Reads the number without a sign at `p` and returns its length, or 0 if parse_any_number must read
// it. Bit i of `others` is set if p[i] is not a digit, for the bytes that other_bytes loaded.
template <class T>
inline unsigned parse_short_number(const char* p, unsigned others, T& value) {
  const unsigned before = lowest(others);
  unsigned length = before, after = 0;
  std::uint64_t digits;
  if (before >= 8) [[unlikely]]
    return 0;  // also if the end lies behind the loaded bytes
  if (p[before] == '.') {
    length = lowest(without_lowest(others));
    after = length - before - 1;
    if (length - 2 < 8) [[likely]] {
      // At most eight digits in all: close the gap at the point.
      const std::uint64_t first = (std::uint64_t{1} << (8 * before)) - 1;
      digits = digits_value((eight_bytes(p) & first) | (eight_bytes(p + 1) & ~first), length - 1);
    } else {
      if (before == 0 || after - 1 >= 8) return 0;
      digits = digits_value(eight_bytes(p), before) * detail::kPower[after] +
               digits_value(eight_bytes(p + before + 1), after);
    }
  } else {
    if (before == 0) [[unlikely]]
      return 0;
    digits = digits_value(eight_bytes(p), before);
  }
  if ((p[length] | 0x20) == 'e') [[unlikely]]
    return 0;
  // Sixteen bytes hold at most 15 digits and their end, so `digits` is below 2^53.
  const double exact =
      static_cast<double>(static_cast<std::int64_t>(digits)) / detail::kPowerDouble[after];
  if constexpr (std::is_same_v<T, float>) {
    constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;
    constexpr std::uint64_t kHalf = std::uint64_t{1} << 28;
    if ((std::bit_cast<std::uint64_t>(exact) & kBelowFloat) == kHalf) [[unlikely]]
      return 0;
  }
  value = static_cast<T>(exact);
  return length;
}

// Reads the number at `p`; returns where it ends, or null if there is none or it is not finite as
// a T. REQUIRES: p < end, end[-1] is '\n', and kNumberPadding bytes behind `end` are readable.
template <class T>
inline const char* parse_number(const char* p, const char* end, T& value) {
  const unsigned others = other_bytes(p);
  // The sign is handled by arithmetic, since a branch would be hard to predict. A '+' is rare, and
  // so is a leading point.
  const unsigned sign = others & 1;
  if (sign != (*p == '-' ? 1U : 0U)) return detail::parse_any_number(p, end, value);
  const unsigned length = parse_short_number(p + sign, others >> sign, value);
  if (length == 0) [[unlikely]]
    return detail::parse_any_number(p, end, value);
  value = sign != 0 ? -value : value;
  return p + sign + length;
}

}  // namespace meanwhile::data
