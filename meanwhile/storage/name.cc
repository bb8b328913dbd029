#include "meanwhile/storage/name.h"

#include <fmt/format.h>

#include <algorithm>

namespace meanwhile::storage {
namespace {

constexpr std::size_t kLongest = 200;

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string problem_of_name(std::string_view name) {
  if (name.size() > kLongest) return fmt::format("longer than {} bytes", kLongest);
  for (std::size_t begin = 0, end; begin <= name.size(); begin = end + 1) {
    end = std::min(name.find('/', begin), name.size());
    const std::string_view word = name.substr(begin, end - begin);
    if (word.empty()) return "a word is empty";
    if (word == "." || word == "..") return fmt::format("a word is '{}'", word);
    const auto bad = std::find_if_not(word.begin(), word.end(), is_allowed);
    if (bad == word.end()) continue;
    const auto code = static_cast<unsigned char>(*bad);
    if (code <= ' ' || code >= 127) return fmt::format("byte {} is not allowed", code);
    return fmt::format("'{}' is not allowed", *bad);
  }
  return "";
}

}  // namespace meanwhile::storage
