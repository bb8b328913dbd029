#include "meanwhile/base/sha256.h"

#include <nettle/sha2.h>

namespace meanwhile::base {

struct Sha256::State {
  sha256_ctx context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { begin(); }

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  sha256_update(&state_->context, bytes.size(),
                reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

void Sha256::add(std::string_view text) { add(std::as_bytes(std::span(text))); }

void Sha256::begin() { sha256_init(&state_->context); }

std::array<std::byte, 32> Sha256::digest() {
  std::array<std::byte, 32> digest;
  // Begins anew by itself.
  sha256_digest(&state_->context, digest.size(), reinterpret_cast<std::uint8_t*>(digest.data()));
  return digest;
}

std::string Sha256::hex() { return base::hex(digest()); }

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte >> 4)];
    text += kDigits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace meanwhile::base
