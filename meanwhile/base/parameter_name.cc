#include "meanwhile/base/parameter_name.h"

#include <algorithm>

namespace meanwhile::base {

namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::string parameter(std::string_view name) {
  std::string text(1, '`');
  text.append(name);
  return text.append(1, '`');
}

std::string with_parameters(std::string_view text,
                            const std::function<std::string(std::string_view)>& spell) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = text.find('`');
    const std::size_t close = open == text.npos ? text.npos : text.find('`', open + 1);
    if (close == text.npos) return result.append(text);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    result.append(text.substr(0, open));
    if (is_name(name)) {
      result.append(spell(name));
      text.remove_prefix(close + 1);
    } else {
      // The closing quote may open a name.
      result.append(text.substr(open, close - open));
      text.remove_prefix(close);
    }
  }
  return result;
}

}  // namespace meanwhile::base
