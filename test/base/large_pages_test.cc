#include "meanwhile/base/large_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>

namespace meanwhile::base {
namespace {

TEST(LargeVector, KeepsItsElementsFromSmallToLarge) {
  constexpr std::size_t kCount = 1 << 20;  // 8 MB: vectors of both kinds on the way
  LargeVector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < kCount; ++i) numbers.push_back(i);
  LargeVector<std::uint64_t> copy = numbers, moved = std::move(numbers);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(std::accumulate(moved.begin(), moved.end(), std::uint64_t{0}),
            kCount * (kCount - 1) / 2);
}

TEST(LargeVector, BeginsWithALargePage) {
  const LargeVector<double> numbers(std::size_t{1} << 18);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % (2 << 20), 0U);
}

}  // namespace
}  // namespace meanwhile::base
