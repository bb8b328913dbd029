#include "meanwhile/base/sha256.h"

#include <openssl/evp.h>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) { begin(); }

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

void Sha256::add(std::string_view text) { add(std::as_bytes(std::span(text))); }

void Sha256::begin() {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorKind::kSystem, "OpenSSL offers no SHA-256");
  }
}

std::array<std::byte, 32> Sha256::digest() {
  std::array<std::byte, 32> digest;
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  begin();
  return digest;
}

std::string Sha256::hex() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest()) {
    text += kDigits[std::to_integer<unsigned>(byte >> 4)];
    text += kDigits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace meanwhile::base
