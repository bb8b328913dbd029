#include "meanwhile/data/text/text_error.h"

#include <fmt/format.h>

#include <cmath>

#include "meanwhile/data/text/number.h"

namespace meanwhile::data {

namespace {

// Bytes of the UTF-8 character at the start of `text`; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  const std::size_t size = byte(0) < 0xc2   ? 0
                           : byte(0) < 0xe0 ? 2
                           : byte(0) < 0xf0 ? 3
                           : byte(0) < 0xf5 ? 4
                                            : 0;
  if (size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (size == 3 && byte(0) == 0xe0 && byte(1) < 0xa0) return 0;   // longer than need be
  if (size == 3 && byte(0) == 0xed && byte(1) >= 0xa0) return 0;  // half of a UTF-16 pair
  if (size == 4 && byte(0) == 0xf0 && byte(1) < 0x90) return 0;   // longer than need be
  if (size == 4 && byte(0) == 0xf4 && byte(1) >= 0x90) return 0;  // beyond the last character
  return size;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  if (text.empty()) return "nothing";
  constexpr std::size_t kMost = 40;
  std::string out = "'";
  std::size_t i = 0;
  while (i < text.size() && i < kMost) {
    const std::size_t size = character_bytes(text.substr(i));
    if (size == 0 || static_cast<unsigned char>(text[i]) < ' ' || text[i] == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      ++i;
    } else {
      out += text.substr(i, size);
      i += size;
    }
  }
  return out + (i < text.size() ? "...'" : "'");
}

std::string not_a_value(std::string_view token, std::string_view type, std::string_view advice) {
  const std::string found = "found " + in_quotes(token);
  double value = 0;
  const char* const end = token.data() + token.size();
  if (!token.empty() && detail::from_chars(token.data(), end, value) == end) {
    if (std::isfinite(value) && type == "float32") {
      return found + ", which is too large for float32; use `dtype` float64";
    }
    return found + ", which is not finite; remove or fill the row";
  }
  if (token.empty()) return found + ", expected a number; remove or fill the row";
  return fmt::format("{}, expected a number{}{}", found, advice.empty() ? "" : "; ", advice);
}

}  // namespace meanwhile::data
