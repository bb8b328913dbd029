// Numbers of things in messages: "1 row", "2 rows".
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace meanwhile::base {

// `thing`: the singular of a noun whose plural ends in -s, in -es after another s, or in -ices for
// -ex.
template <class Number>
std::string counted(Number number, std::string_view thing) {
  if (number == Number{1}) return fmt::format("{} {}", number, thing);
  if (thing.ends_with("ex")) {
    return fmt::format("{} {}ices", number, thing.substr(0, thing.size() - 2));
  }
  return fmt::format("{} {}{}", number, thing, thing.ends_with('s') ? "es" : "s");
}

}  // namespace meanwhile::base
