// Numbers that a fuzz target takes from its input, one after another; zeros behind its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::fuzz {

class BytesTaken {
 public:
  explicit BytesTaken(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    return first;
  }
  // A length, below 64.
  std::size_t count() { return byte() % 64; }
  // From -128 to 127; or, after -128, any.
  std::int64_t small() {
    const auto value = static_cast<std::int8_t>(byte());
    if (value != -128) return value;
    std::uint64_t any = 0;
    for (int i = 0; i < 8; ++i) any = any << 8 | byte();
    return static_cast<std::int64_t>(any);
  }
  // All others, as whole groups of `each`; aligned.
  std::vector<std::byte> rest(std::size_t each) {
    const std::size_t whole = bytes_.size() / each * each;
    std::vector<std::byte> taken(bytes_.begin(),
                                 bytes_.begin() + static_cast<std::ptrdiff_t>(whole));
    bytes_ = {};
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace meanwhile::fuzz
