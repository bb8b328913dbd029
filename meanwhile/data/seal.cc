#include "meanwhile/data/seal.h"

#include <cassert>

namespace meanwhile::data {

namespace {

constexpr std::size_t kDigits = 64;

// Where the digits begin; npos: there are none. A quote inside of a JSON text is escaped, so the
// name with its quotes and a colon is found as a name alone.
std::size_t find_digits(std::string_view json) {
  constexpr std::string_view kName = "\"seal\":";
  for (std::size_t at = json.find(kName); at != json.npos; at = json.find(kName, at + 1)) {
    std::size_t begin = at + kName.size();
    if (json.substr(begin, 1) == " ") ++begin;
    const std::string_view value = json.substr(begin, kDigits + 2);
    if (value.size() == kDigits + 2 && value.front() == '"' && value.find('"', 1) == kDigits + 1) {
      return begin + 1;
    }
  }
  return json.npos;
}

std::string hash_of(std::string_view json, std::size_t digits, base::Sha256& rest) {
  rest.add(json.substr(0, digits));
  rest.add(blank_seal());
  rest.add(json.substr(digits + kDigits));
  return rest.hex();
}

}  // namespace

std::string blank_seal() { return std::string(kDigits, '0'); }

void put_seal(std::string& json, base::Sha256& rest) {
  const std::size_t digits = find_digits(json);
  assert(digits != json.npos);
  json.replace(digits, kDigits, hash_of(json, digits, rest));
}

Seal check_seal(std::string_view json, std::span<const std::byte> rest) {
  const std::size_t digits = find_digits(json);
  if (digits == json.npos) return Seal::kNone;
  base::Sha256 hash;
  hash.add(rest);
  return json.substr(digits, kDigits) == hash_of(json, digits, hash) ? Seal::kWhole : Seal::kBroken;
}

}  // namespace meanwhile::data
