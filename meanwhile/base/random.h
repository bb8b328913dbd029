// Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011).
//
// A number is a pure function of (seed, purpose, shard, round, index). No stream is advanced, so
// any worker can draw any number, twice if need be, and a resumed job draws what the first would
// have.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace meanwhile::base {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Purposes of random numbers, so that no two uses ever share one. Values are part of the "one
// answer" promise: append, never renumber.
enum class Purpose : std::uint8_t {
  kDeal = 1,
  kSeeding = 2,
  kBatch = 3,
  kShuffle = 4,
  kHoldOut = 5,
  kGenerate = 6,
  kSample = 7,
  kUser = 255
};

class Random {
 public:
  constexpr Random(std::uint64_t seed, Purpose purpose, std::uint32_t shard, std::uint32_t round)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        shard_(shard),
        round_(round),
        purpose_(purpose) {}

  // 128 random bits, of which bits() are the first 64. REQUIRES: index < 2^56.
  constexpr PhiloxBlock block(std::uint64_t index) const {
    const std::uint32_t high =
        static_cast<std::uint32_t>(index >> 32) | (static_cast<std::uint32_t>(purpose_) << 24);
    return philox4x32({static_cast<std::uint32_t>(index), high, shard_, round_}, key_);
  }
  // block(first), block(first + 1), ...
  constexpr void blocks(std::uint64_t first, std::span<PhiloxBlock> to) const {
    for (PhiloxBlock& each : to) each = block(first++);
  }

  // 64 random bits. REQUIRES: index < 2^56.
  constexpr std::uint64_t bits(std::uint64_t index) const {
    const PhiloxBlock r = block(index);
    return (std::uint64_t{r[1]} << 32) | r[0];
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform(std::uint64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1p-53;
  }

  // Uniform in {0, ..., bound - 1}, with a bias below bound / 2^64. REQUIRES: bound > 0.
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{bits(index)} * bound) >> 64);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t shard_, round_;
  Purpose purpose_;
};

}  // namespace meanwhile::base
