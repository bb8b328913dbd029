// Random numbers of the sampler: a choice and a place from the same 32 bits, tables of aliases,
// gamma variates. All are pure functions of base/random.h's bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/random.h"

namespace meanwhile::learn::lda::sampled {

__extension__ using Wide = unsigned __int128;

// `bits` x scale / 2^64: one of n things, where bits are below some b and scale is n 2^64 / b; and
// what is left below it, as 32 bits.
inline std::uint32_t place_of(std::uint64_t bits, std::uint64_t scale) {
  return static_cast<std::uint32_t>((Wide{bits} * scale) >> 64);
}
inline std::uint32_t left_of(std::uint64_t bits, std::uint64_t scale) {
  return static_cast<std::uint32_t>((bits * scale) >> 32);
}

// With probability listed / (listed + rest) one of `listed` things, all as likely: 32 random bits
// below `bits` choose place_of(them, scale). Others choose one of `n` things of the rest,
// place_of(them - bits, rest_scale).
struct Share {
  std::uint32_t bits = 0;
  std::uint64_t scale = 0, rest_scale = 0;
};
// To 2^-32, or n 2^-32 where the rest is as small. REQUIRES: listed + rest < 2^32, rest > 0.
inline Share share_of(std::uint64_t listed, double rest, std::size_t n) {
  const double part = static_cast<double>(listed) / (static_cast<double>(listed) + rest);
  const double most = 0x1p32 - static_cast<double>(n) - 1;  // scales have 64 bits
  Share share{static_cast<std::uint32_t>(std::min(part * 0x1p32, most)), 0, 0};
  if (share.bits <= listed) share.bits = 0;
  if (share.bits > 0) share.scale = static_cast<std::uint64_t>((Wide{listed} << 64) / share.bits);
  const Wide left = (Wide{1} << 32) - share.bits;
  share.rest_scale = static_cast<std::uint64_t>((Wide{n} << 64) / left);
  return share;
}

// Uniform in [0, 1).
inline float unit(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

// Walker's and Vose's method: entry i stands for i with probability limit / 2^32, else for `other`.
struct Alias {
  std::uint32_t limit, other;
};
std::vector<Alias> aliases_of(std::span<const double> weights);

// Gamma(shape, 1); `index` names the draw, below 2^48. May be 0 for a shape near 0.
double draw_gamma(double shape, const base::Random& random, std::uint64_t index);

}  // namespace meanwhile::learn::lda::sampled
