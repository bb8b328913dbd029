// exp, log and digamma of vectors against long double: the table in special-inl.h is what is
// checked here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "meanwhile/base/simd.h"
#include "meanwhile/learn/lda/special.h"

namespace meanwhile::learn::lda {
namespace {

long double digamma(long double x) {
  long double sum = 0;
  for (; x < 40; ++x) sum -= 1 / x;
  const long double r = 1 / (x * x);
  const long double series =
      r * (1.L / 12 - r * (1.L / 120 - r * (1.L / 252 - r * (1.L / 240 - r / 132))));
  return sum + std::log(x) - 0.5L / x - series;
}

template <class T>
struct Bounds;
template <>
struct Bounds<float> {
  static constexpr double kExp = 3e-7, kLog = 2e-7, kDigamma = 1e-6, kExpDigamma = 5e-7;
  static constexpr double kRange = 87;  // of the argument of exp
};
template <>
struct Bounds<double> {
  static constexpr double kExp = 4e-16, kLog = 4e-16, kDigamma = 4e-15, kExpDigamma = 2e-15;
  static constexpr double kRange = 708;
};

template <class T>
std::vector<T> uniform(double low, double high, int n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>(draw(random)));
  return values;
}

// Over many powers of ten.
template <class T>
std::vector<T> spread(double least, double most, int n, unsigned seed) {
  std::vector<T> values = uniform<T>(std::log(least), std::log(most), n, seed);
  for (T& value : values) value = std::exp(value);
  return values;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The largest error(x, f(x)).
template <class T, class F, class Error>
double largest_error(const std::vector<T>& x, F f, Error error) {
  std::vector<T> y(x.size());
  f(std::span<const T>(x), std::span<T>(y));
  long double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double e = error(static_cast<long double>(x[i]), static_cast<long double>(y[i]));
    if (!(e <= most)) most = e;  // also what is no number
  }
  return static_cast<double>(most);
}

template <class T>
class LdaSpecial : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(LdaSpecial, Types);

TYPED_TEST(LdaSpecial, ExpIsAsExactAsTheTableSays) {
  using T = TypeParam;
  const double range = Bounds<T>::kRange;
  const auto x = joined(uniform<T>(-range, range, 20000, 1), uniform<T>(-1, 1, 20000, 2));
  EXPECT_LT(
      largest_error(
          x, [](auto in, auto out) { vector_exp(in, out); },
          [](long double at, long double y) { return std::abs(y - std::exp(at)) / std::exp(at); }),
      Bounds<T>::kExp);
}

TYPED_TEST(LdaSpecial, ExpOfLessThanCanBeToldIsTheLeast) {
  using T = TypeParam;
  const T range = static_cast<T>(Bounds<T>::kRange);
  std::vector<T> x = {0, -range, -range - 5, T{-1048576}, -std::numeric_limits<T>::max()};
  vector_exp(x, x);
  EXPECT_EQ(x[0], T{1});
  EXPECT_GT(x[1], T{0});
  for (std::size_t i = 2; i < x.size(); ++i) EXPECT_EQ(x[i], x[1]);
}

TYPED_TEST(LdaSpecial, LogIsAsExactAsTheTableSays) {
  using T = TypeParam;
  const bool narrow = sizeof(T) == 4;
  auto x = joined(spread<T>(narrow ? 1e-37 : 1e-300, narrow ? 1e38 : 1e300, 20000, 3),
                  uniform<T>(0.5, 2, 20000, 4));
  x = joined(x, uniform<T>(0.9999, 1.0001, 5000, 5));
  x.push_back(std::nextafter(T{1}, T{2}));
  x.push_back(std::nextafter(T{1}, T{0}));
  x.push_back(std::numeric_limits<T>::min());
  x.push_back(std::numeric_limits<T>::max());
  EXPECT_LT(largest_error(
                x, [](auto in, auto out) { vector_log(in, out); },
                [](long double at, long double y) {
                  const long double exact = std::log(at);
                  return exact == 0 ? std::abs(y) : std::abs((y - exact) / exact);
                }),
            Bounds<T>::kLog);
  std::vector<T> one = {1};
  vector_log(one, one);
  EXPECT_EQ(one[0], T{0});
}

TYPED_TEST(LdaSpecial, DigammaIsAsExactAsTheTableSays) {
  using T = TypeParam;
  const auto x = joined(spread<T>(1e-8, 1e9, 20000, 6), uniform<T>(0.5, 20, 20000, 7));
  EXPECT_LT(largest_error(
                x, [](auto in, auto out) { vector_digamma(in, out); },
                [](long double at, long double y) {
                  const long double exact = digamma(at);
                  return std::abs(y - exact) / std::max(1.L, std::abs(exact));
                }),
            Bounds<T>::kDigamma);
}

TYPED_TEST(LdaSpecial, ExpDigammaIsAsExactAsTheTableSays) {
  using T = TypeParam;
  const auto x = joined(spread<T>(1e-8, 1e9, 20000, 8), uniform<T>(0.5, 20, 20000, 9));
  EXPECT_LT(largest_error(
                x, [](auto in, auto out) { vector_exp_digamma(in, out); },
                [](long double at, long double y) {
                  const long double exact = digamma(at);
                  // Less than the type can hold is the least that exp gives.
                  if (exact < -Bounds<T>::kRange + 10) return y >= 0 && y < 1e-30L ? 0.L : 1.L;
                  return std::abs(y / std::exp(exact) - 1) / (1 + 1 / at);
                }),
            Bounds<T>::kExpDigamma);
}

TYPED_TEST(LdaSpecial, DigammaIsWhatIsKnownOfIt) {
  using T = TypeParam;
  std::vector<T> y = {1, 2, T{0.5}};
  vector_digamma(y, y);
  const double euler = 0.57721566490153286;
  EXPECT_NEAR(y[0], -euler, Bounds<T>::kDigamma);
  EXPECT_NEAR(y[1], 1 - euler, Bounds<T>::kDigamma);
  EXPECT_NEAR(y[2], -euler - 2 * std::log(2.), 2 * Bounds<T>::kDigamma);
}

// All functions of x, one after the other.
template <class T>
std::vector<T> all_of(const std::vector<T>& x) {
  std::vector<T> out(4 * x.size());
  const auto part = [&](std::size_t i) { return std::span(out).subspan(i * x.size(), x.size()); };
  vector_exp(x, part(0));
  vector_log(x, part(1));
  vector_digamma(x, part(2));
  vector_exp_digamma(x, part(3));
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TYPED_TEST(LdaSpecial, EveryInstructionSetGivesTheSameBits) {
  using T = TypeParam;
  const auto x = spread<T>(1e-8, 80, 5003, 10);
  const std::vector<std::string> targets = base::simd_targets();
  const auto best = all_of(x);
  for (const std::string& target : targets) {
    base::limit_simd(target);
    EXPECT_TRUE(same_bits(all_of(x), best)) << target;
  }
  base::limit_simd(targets.front());
}

TYPED_TEST(LdaSpecial, ArraysOfAnySizeAreFilledToTheirEndAndNoFurther) {
  using T = TypeParam;
  const auto x = spread<T>(1e-3, 50, 40, 11);
  const auto all = all_of(x);
  const std::vector<std::string> targets = base::simd_targets();
  for (const std::string& target : targets) {
    base::limit_simd(target);
    for (std::size_t n = 0; n <= x.size(); ++n) {
      std::vector<T> out(n + 20, T{-7});
      const std::span<const T> in(x.data(), n);
      for (std::size_t f = 0; f < 4; ++f) {
        const std::span<T> to = std::span(out).first(n);
        if (f == 0) vector_exp(in, to);
        if (f == 1) vector_log(in, to);
        if (f == 2) vector_digamma(in, to);
        if (f == 3) vector_exp_digamma(in, to);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], all[f * x.size() + i]);
        for (std::size_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], T{-7});
      }
    }
  }
  base::limit_simd(targets.front());
}

}  // namespace
}  // namespace meanwhile::learn::lda
