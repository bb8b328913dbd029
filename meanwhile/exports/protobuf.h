// The wire format of Protocol Buffers, as far as writing a message needs it: a field is a key
// (number and type), then a varint or a length and bytes. doc/architecture.md says why there is no
// library.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace meanwhile::exports {

static_assert(std::endian::native == std::endian::little);

class Message {
 public:
  void number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
  }
  void text(int field, std::string_view value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(int field, const Message& value) { text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace meanwhile::exports
