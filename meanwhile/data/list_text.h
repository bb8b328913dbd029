// Lists in messages.
#pragma once

#include <fmt/format.h>

#include <string>

namespace meanwhile::data {

// "3, 4, 5". fmt::join would make g++ 12 warn, wrongly, of an overflow when it is inlined.
template <class Items>
std::string list_text(const Items& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("{}{}", text.empty() ? "" : ", ", item);
  return text;
}

}  // namespace meanwhile::data
