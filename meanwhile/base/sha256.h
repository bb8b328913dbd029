// SHA-256 by Nettle, which uses the instructions for it where the machine has them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace meanwhile::base {

// In lower-case hexadecimal.
std::string hex(std::span<const std::byte> bytes);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  // The digest, after which the object begins anew.
  std::array<std::byte, 32> digest();
  // The same in lower-case hexadecimal.
  std::string hex();

 private:
  void begin();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace meanwhile::base
