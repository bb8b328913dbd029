#include "meanwhile/exchange/sparse.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "test/expect_error.h"

namespace meanwhile::exchange {
namespace {

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

Values values_of(const std::vector<double>& piece) {
  return {Element::kFloat64, Combine::kAdd, std::as_bytes(std::span(piece))};
}

// The piece as it arrives, having lain in memory full of something else.
std::vector<double> sent(const std::vector<double>& piece, std::size_t* bytes = nullptr) {
  transport::Bytes space, other_space;
  const std::span<const std::byte> message = pack(values_of(piece), space);
  std::vector<double> arrived(piece.size(), 77.0);
  if (!message.empty()) std::memcpy(arrived.data(), message.data(), message.size());
  unpack(Element::kFloat64, Combine::kAdd, std::as_writable_bytes(std::span(arrived)),
         message.size(), other_space);
  if (bytes) *bytes = message.size();
  return arrived;
}

TEST(Sparse, PaysWhenItHalvesTheBytes) {
  EXPECT_TRUE(sparse_pays(300, 99));
  EXPECT_FALSE(sparse_pays(300, 100));
  EXPECT_TRUE(sparse_pays(1, 0));
  EXPECT_FALSE(sparse_pays(0, 0));
}

TEST(Sparse, EveryPieceArrivesBitForBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> special{-0.0,
                                    nan,
                                    -nan,
                                    std::bit_cast<double>(0x7ff8000000000123ull),
                                    std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::denorm_min(),
                                    1.5};
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{21}, std::size_t{100}, std::size_t{5000}}) {
    for (const std::size_t every : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4},
                                    std::size_t{50}, std::size_t{9999}}) {
      std::vector<double> piece(size, 0.0);
      for (std::size_t i = 0; i < size; i += every) piece[i] = special[i % special.size()];
      EXPECT_EQ(bits_of(sent(piece)), bits_of(piece)) << size << " values, every " << every;
    }
  }
}

TEST(Sparse, TakesTwelveBytesForEachTouchedValue) {
  std::vector<double> piece(1000, 0.0);
  std::size_t bytes = 0;
  sent(piece, &bytes);
  EXPECT_EQ(bytes, 0u);
  piece[3] = -0.0;
  piece[999] = 2;
  sent(piece, &bytes);
  EXPECT_EQ(bytes, 24u);
}

TEST(Sparse, SendsADensePieceFromWhereItLies) {
  const std::vector<double> piece(5000, 1.0);
  transport::Bytes space;
  EXPECT_EQ(pack(values_of(piece), space).data(), std::as_bytes(std::span(piece)).data());
  EXPECT_TRUE(space.empty());
}

TEST(Sparse, RefusesWhatNoPieceCanHaveMade) {
  std::vector<double> piece(10, 0.0);
  transport::Bytes space;
  const auto unpacked = [&](std::size_t bytes) {
    unpack(Element::kFloat64, Combine::kAdd, std::as_writable_bytes(std::span(piece)), bytes,
           space);
  };
  using base::ErrorKind;
  EXPECT_THAT(error_of(ErrorKind::kFailed, [&] { unpacked(13); }),
              testing::HasSubstr("13 bytes is no piece of 10 values"));
  EXPECT_THAT(error_of(ErrorKind::kFailed, [&] { unpacked(96); }), testing::HasSubstr("96 bytes"));
  const std::uint32_t beyond = 10;
  std::memcpy(reinterpret_cast<std::byte*>(piece.data()) + 8, &beyond, sizeof beyond);
  EXPECT_THAT(error_of(ErrorKind::kFailed, [&] { unpacked(12); }),
              testing::HasSubstr("place 10 in a piece of 10 values"));
}

}  // namespace
}  // namespace meanwhile::exchange
