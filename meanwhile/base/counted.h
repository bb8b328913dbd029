// Numbers of things in messages: "1 row", "2 rows".
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace meanwhile::base {

// `thing`: the singular of a noun whose plural ends in -s, or in -es after another s.
template <class Number>
std::string counted(Number number, std::string_view thing) {
  const char* plural = number == Number{1} ? "" : thing.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", number, thing, plural);
}

}  // namespace meanwhile::base
