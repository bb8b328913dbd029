#include "meanwhile/base/buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "test/expect_error.h"

namespace meanwhile::base {
namespace {

TEST(Buffer, BeginsEmptyAndGrowsWithZeros) {
  Buffer<int> buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.begin(), buffer.end());
  buffer.resize(3);
  for (const int value : buffer) EXPECT_EQ(value, 0);
}

TEST(Buffer, KeepsItsElementsAsItGrowsAndShrinks) {
  Buffer<std::int64_t> buffer;
  for (std::size_t size = 1; size < 1'000'000; size = size * 3 + 1) {
    const std::size_t before = buffer.size();
    buffer.resize(size);
    for (std::size_t i = before; i < size; ++i) buffer[i] = static_cast<std::int64_t>(i);
  }
  buffer.resize(buffer.size() / 2);
  buffer.shrink_to_fit();
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    ASSERT_EQ(buffer[i], static_cast<std::int64_t>(i));
  }
}

TEST(Buffer, ShrinksToNothing) {
  Buffer<double> buffer(1000);
  buffer.resize(0);
  buffer.shrink_to_fit();
  EXPECT_EQ(buffer.data(), nullptr);
  buffer.resize(10);
  EXPECT_EQ(buffer[9], 0);
}

TEST(Buffer, MovesWithoutCopying) {
  Buffer<double> from(1000);
  from[999] = 7;
  const double* data = from.data();
  Buffer<double> to = std::move(from);
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(to.size(), 1000u);
  EXPECT_TRUE(from.empty());
  Buffer<double> assigned(5);
  assigned = std::move(to);
  EXPECT_EQ(assigned.data(), data);
  EXPECT_EQ(assigned[999], 7);
}

TEST(Buffer, SaysHowMuchMemoryThereWasNot) {
  EXPECT_THAT(error_of(ErrorKind::kSystem, [] { Buffer<char> buffer(std::size_t{1} << 62); }),
              testing::HasSubstr("4611686018427387904 bytes"));
  // As bytes, more than 64 bits count.
  EXPECT_THAT(error_of(ErrorKind::kSystem, [] { Buffer<double> buffer(std::size_t{1} << 62); }),
              testing::HasSubstr("allocating"));
}

TEST(Buffer, DiscardsWholePagesAndKeepsTheirNeighbours) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Buffer<char> buffer(4 * page);
  std::fill(buffer.begin(), buffer.end(), 'x');
  discard_pages(std::as_bytes(buffer.span().subspan(1, 3 * page)));  // ends within the last page
  const auto count = [&](std::size_t which) {
    const char* const begin = buffer.data() + which * page;
    return static_cast<std::size_t>(std::count(begin, begin + page, 'x'));
  };
  EXPECT_EQ(count(0), page);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(count(2), 0u);
  EXPECT_EQ(count(3), page);
  discard_pages(std::as_bytes(buffer.span().subspan(1, page)));  // covers no whole page
  EXPECT_EQ(count(0), page);
  discard_pages({});
}

}  // namespace
}  // namespace meanwhile::base
