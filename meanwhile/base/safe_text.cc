#include "meanwhile/base/safe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace meanwhile::base {

namespace {

constexpr std::string_view kValueEnds = "& \t\r\n\"'<>;,)";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Whatever stands after `mark` (in lower case), up to what ends a value, becomes "***".
void blot_after(std::string& text, std::string_view mark) {
  std::string lower = lower_case(text);
  for (std::size_t at = 0; (at = lower.find(mark, at)) != lower.npos;) {
    at += mark.size();
    const std::size_t end = std::min(text.find_first_of(kValueEnds, at), text.size());
    text.replace(at, end - at, "***");
    lower.replace(at, end - at, "***");
  }
}

// NAME:KEY of SCHEME://NAME:KEY@. A key may hold slashes.
void blot_user(std::string& text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != text.npos;) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", at), text.size());
    const std::size_t sign = text.substr(0, end).rfind('@');
    if (sign == text.npos || sign < at || text.substr(at, sign - at).find(':') == text.npos) {
      continue;
    }
    text.replace(at, sign - at, "***");
  }
}

// Bytes of the UTF-8 character at the start of `text`, and the character; 0 bytes if there is none.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes > text.size()) return {};
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {bytes, code};
}

bool is_shown(std::uint32_t code) {
  if (code == '\n' || code == '\t') return true;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  // Marks of direction: they make a line read as another.
  const bool direction = code == 0x200e || code == 0x200f || code == 0x061c ||
                         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !direction;
}

}  // namespace

std::string redacted(std::string_view text) {
  std::string result(text);
  for (const char* mark : {"sig=", "sig%3d", "accountkey=", "sharedkey "}) blot_after(result, mark);
  blot_user(result);
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.bytes > 0 && is_shown(next.code)) {
      result += text.substr(0, next.bytes);
    } else if (next.bytes > 1 || next.code == 0x7f) {
      result += fmt::format("\\u{:04x}", next.code);
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return result;
}

}  // namespace meanwhile::base
