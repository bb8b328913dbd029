// Pairs of users and items as CSV.
#pragma once

#include <string>
#include <string_view>

namespace meanwhile::cli {

// A field of CSV: in quotes where it needs them.
inline std::string csv_name(std::string_view name) {
  if (name.find_first_of(",;\"\r\n\t#") == std::string_view::npos && !name.empty() &&
      name.front() != ' ' && name.back() != ' ') {
    return std::string(name);
  }
  std::string field = "\"";
  for (const char c : name) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

}  // namespace meanwhile::cli
