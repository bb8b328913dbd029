// A hash of short words for tables in memory. No result may depend on its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace meanwhile::data {

inline std::uint64_t word_hash(std::string_view word) {
  const auto mix = [](std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 32);
  };
  const auto load = [](const char* p, auto value) -> std::uint64_t {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  const char* p = word.data();
  std::size_t left = word.size();
  std::uint64_t hash = left;
  for (; left > 8; left -= 8, p += 8) hash = mix(hash ^ load(p, std::uint64_t{}));
  // The last 1 to 8 bytes; loads overlap if there are fewer than 8.
  if (left >= 4) {
    hash ^= load(p, std::uint32_t{}) | load(p + left - 4, std::uint32_t{}) << 32;
  } else if (left > 0) {
    const auto byte = [p](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(p[i])};
    };
    hash ^= byte(0) << 32 | byte(left / 2) << 16 | byte(left - 1);
  }
  return mix(mix(hash));
}

}  // namespace meanwhile::data
