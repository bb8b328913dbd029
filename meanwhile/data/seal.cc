#include "meanwhile/data/seal.h"

#include <cassert>

namespace meanwhile::data {

namespace {

constexpr std::size_t kDigits = 64;

// Where the digits begin; npos: there are none. A quote inside of a JSON text is escaped, so the
// name with its quotes and a colon is found as a name alone.
std::size_t find_digits(std::string_view text) {
  constexpr std::string_view kName = "\"seal\":";
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName, at + 1)) {
    std::size_t begin = at + kName.size();
    if (text.substr(begin, 1) == " ") ++begin;
    const std::string_view value = text.substr(begin, kDigits + 2);
    if (value.size() == kDigits + 2 && value.front() == '"' && value.find('"', 1) == kDigits + 1) {
      return begin + 1;
    }
  }
  return text.npos;
}

std::string hash_of(std::string_view text, std::size_t digits, base::Sha256& rest) {
  rest.add(text.substr(0, digits));
  rest.add(blank_seal());
  rest.add(text.substr(digits + kDigits));
  return rest.hex();
}

}  // namespace

std::string blank_seal() { return std::string(kDigits, '0'); }

void put_seal(std::string& text, base::Sha256& rest) {
  const std::size_t digits = find_digits(text);
  assert(digits != text.npos);
  text.replace(digits, kDigits, hash_of(text, digits, rest));
}

Seal check_seal(std::string_view text, std::span<const std::byte> rest) {
  const std::size_t digits = find_digits(text);
  if (digits == text.npos) return Seal::kNone;
  base::Sha256 hash;
  hash.add(rest);
  return text.substr(digits, kDigits) == hash_of(text, digits, hash) ? Seal::kWhole : Seal::kBroken;
}

}  // namespace meanwhile::data
