#include "meanwhile/data/text/number.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "meanwhile/base/random.h"

namespace meanwhile::data {
namespace {

// Parses `text` followed by a line end; the length of what was taken, or -1.
template <class T>
std::ptrdiff_t take(const std::string& text, T& value) {
  const std::string padded = text + '\n' + std::string(kNumberPadding, '\0');
  const char* const begin = padded.data();
  const char* const after = parse_number(begin, begin + text.size() + 1, value);
  return after == nullptr ? -1 : after - begin;
}

template <class T>
void expect_as_strtod(const std::string& text) {
  T value = 0;
  ASSERT_EQ(take(text, value), static_cast<std::ptrdiff_t>(text.size())) << text;
  const T expected = std::is_same_v<T, float> ? static_cast<T>(std::strtof(text.c_str(), nullptr))
                                              : static_cast<T>(std::strtod(text.c_str(), nullptr));
  EXPECT_EQ(value, expected) << text;
  EXPECT_EQ(std::signbit(value), std::signbit(expected)) << text;
}

TEST(Number, EveryByteThatIsNoDigitIsSeen) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t place = 0; place < 16; ++place) {
      std::string text = "9876543210123456";
      text[place] = static_cast<char>(byte);
      const bool digit = byte >= '0' && byte <= '9';
      ASSERT_EQ(other_bytes(text.data()), digit ? 0U : 1U << place) << byte;
    }
  }
}

TEST(Number, DigitsHaveTheirValueWhateverFollows) {
  for (unsigned count = 1; count <= 8; ++count) {
    for (const char other : {'\0', ' ', '9', '\xff'}) {
      const std::string text = std::string("98765432").substr(0, count) + std::string(8, other);
      EXPECT_EQ(digits_value(eight_bytes(text.data()), count), std::stoul(text.substr(0, count)));
    }
  }
}

// Every number of digits before and behind the point, with and without a sign, so that numbers end
// before, at and behind the sixteenth byte.
TEST(Number, AnyNumberOfDigitsIsRead) {
  const std::string digits = "123456789012345678901234567890";
  for (std::size_t before = 0; before <= 20; ++before) {
    for (std::size_t after = 0; after <= 20; ++after) {
      if (before + after == 0) continue;
      const std::string text = digits.substr(0, before) + "." + digits.substr(before, after);
      for (const char* sign : {"", "-", "+"}) {
        for (const char* exponent : {"", "e1", "E-07"}) {
          expect_as_strtod<float>(sign + text + exponent);
          expect_as_strtod<double>(sign + text + exponent);
          if (after == 0) expect_as_strtod<double>(sign + digits.substr(0, before) + exponent);
        }
      }
    }
  }
}

TEST(Number, RoundsLikeTheStandardLibrary) {
  for (const char* text : {"0",
                           "-0",
                           "+1",
                           "1.",
                           ".5",
                           "-.5",
                           "00012.500",
                           "123456789",
                           "1234567890123456789",
                           "12345678901234567890123",
                           "0.1",
                           "3.4028235e38",
                           "1e-45",
                           "1e-400",
                           "9007199254740993",
                           "9007199254740992",
                           "9007199254740991.5",
                           "1.00000017881393432617187499",
                           "1.00000017881393432617187500",
                           "1.00000017881393432617187501",
                           "16777217",
                           "16777219",
                           "0.000000000000000000000000000001",
                           "1E5",
                           "1e+5",
                           "7.0064923216240853546186479164495e-46",
                           "0.12345678",
                           "0.1234567812345678",
                           "0.12345678123456781",
                           "12345678.12345678"}) {
    expect_as_strtod<float>(text);
    expect_as_strtod<double>(text);
  }
}

// Numbers of all lengths, and those next to the middle between two floats, where a second rounding
// would show.
TEST(Number, RoundsLikeTheStandardLibraryAtRandom) {
  const base::Random random(3, base::Purpose::kUser, 0, 0);
  for (std::uint64_t i = 0; i < 200000; ++i) {
    std::string text = std::to_string(random.bits(3 * i) >> (1 + random.below(3 * i + 1, 60)));
    const std::size_t point = random.below(3 * i + 2, text.size() + 1);
    if (point < text.size()) text = text.substr(0, point) + "." + text.substr(point);
    expect_as_strtod<float>(text);
    expect_as_strtod<double>(text);
  }
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const auto mantissa = (std::uint64_t{1} << 23) + random.below(2 * i, 1 << 23);
    const double middle = (static_cast<double>(mantissa) + 0.5) *
                          std::ldexp(1.0, static_cast<int>(random.below(2 * i + 1, 20)) - 23);
    for (const int digits : {6, 8, 12, 15, 17, 30}) {
      char text[64];
      std::snprintf(text, sizeof text, "%.*f", digits, middle);
      expect_as_strtod<float>(text);
    }
  }
}

TEST(Number, StopsAtTheFirstByteThatIsNoPartOfIt) {
  double value = 0;
  EXPECT_EQ(take("1.5,2", value), 3);
  EXPECT_EQ(value, 1.5);
  EXPECT_EQ(take("12:3", value), 2);
  EXPECT_EQ(take("1e5x", value), 3);
  EXPECT_EQ(take("0x10", value), 1);
  EXPECT_EQ(take("1.2.3", value), 3);
}

TEST(Number, TakesNothingThatIsNotFinite) {
  for (const char* text : {"", "-", "+", ".", "-.", "e5", "+-1", "nan", "inf", "-Infinity", "1e400",
                           "abc", "--1", "++1"}) {
    double value = 0;
    EXPECT_EQ(take(text, value), -1) << text;
  }
  float value = 0;
  EXPECT_EQ(take("3.5e38", value), -1);
  EXPECT_EQ(take("340282350000000000000000000000000000000", value), 39);
}

}  // namespace
}  // namespace meanwhile::data
