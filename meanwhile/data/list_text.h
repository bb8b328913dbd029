// Lists in messages.
#pragma once

#include <fmt/format.h>

#include <string>

namespace meanwhile::data {

// "3, 4, 5". In place of fmt::join, whose inlining makes g++ 12 warn of an overflow that is none.
template <class Items>
std::string list_text(const Items& items) {
  std::string text;
  for (const auto& item : items) text += fmt::format("{}{}", text.empty() ? "" : ", ", item);
  return text;
}

}  // namespace meanwhile::data
