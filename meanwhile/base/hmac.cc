#include "meanwhile/base/hmac.h"

#include "meanwhile/base/sha256.h"

namespace meanwhile::base {

namespace {

using Parts = std::span<const std::span<const std::byte>>;

std::array<std::byte, 32> digest_of(std::string_view key, Parts parts) {
  constexpr std::size_t kBlock = 64;
  std::array<std::byte, kBlock> inner = {}, outer = {};
  Sha256 hash;
  if (key.size() > kBlock) {
    hash.add(key);
    const std::array<std::byte, 32> digest = hash.digest();
    for (std::size_t i = 0; i < digest.size(); ++i) inner[i] = digest[i];
  } else {
    for (std::size_t i = 0; i < key.size(); ++i) inner[i] = static_cast<std::byte>(key[i]);
  }
  for (std::size_t i = 0; i < kBlock; ++i) {
    outer[i] = inner[i] ^ std::byte{0x5c};
    inner[i] ^= std::byte{0x36};
  }
  hash.add(inner);
  for (const std::span<const std::byte> part : parts) hash.add(part);
  const std::array<std::byte, 32> digest = hash.digest();
  hash.add(outer);
  hash.add(digest);
  return hash.digest();
}

}  // namespace

std::string hmac_sha256(std::string_view key, Parts parts) { return hex(digest_of(key, parts)); }

std::array<std::byte, 32> hmac_sha256(std::string_view key, std::string_view text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  return digest_of(key, {&part, 1});
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

}  // namespace meanwhile::base
