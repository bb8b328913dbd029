// Names of files as formats list them: "*.csv", or a pattern with one star.
#pragma once

#include <span>
#include <string_view>

namespace meanwhile::data {

inline bool fits(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  const std::size_t least = before.empty() ? 1 : 0;
  return name.size() >= before.size() + least + after.size() && name.starts_with(before) &&
         name.ends_with(after);
}

// Patterns that are empty fit nothing.
inline bool fits_any(std::string_view name, std::span<const std::string_view> patterns) {
  for (const std::string_view pattern : patterns) {
    if (!pattern.empty() && fits(name, pattern)) return true;
  }
  return false;
}

}  // namespace meanwhile::data
