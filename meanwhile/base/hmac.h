// HMAC-SHA-256 (RFC 2104): a hash that only those who know a key can make.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace meanwhile::base {

// The HMAC-SHA-256 of the bytes of all `parts` in order, in lower-case hexadecimal. Parts are not
// told apart: the caller ends each so that two lists of parts never have the same bytes.
std::string hmac_sha256(std::string_view key, std::span<const std::span<const std::byte>> parts);
// The same of one text, as bytes.
std::array<std::byte, 32> hmac_sha256(std::string_view key, std::string_view text);

// Compares in a time that does not tell how much of the text is right.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace meanwhile::base
