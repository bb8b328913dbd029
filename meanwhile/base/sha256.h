// SHA-256 by OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace meanwhile::base {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  // The digest in lower-case hexadecimal. Ends the use of this object.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace meanwhile::base
