// Fields of CSV as they are written.
#pragma once

#include <string>
#include <string_view>

namespace meanwhile::data {

// The field, in quotes where it needs them: any reader takes it for one field, whichever character
// it finds to be the delimiter. `delimiter` is that of the file; blanks need quotes only if it is
// one.
inline std::string csv_field(std::string_view text, char delimiter = ',') {
  const bool bare = text.find_first_of(",;\"\r\n\t#") == std::string_view::npos && !text.empty() &&
                    text.find(delimiter) == std::string_view::npos && text.front() != ' ' &&
                    text.back() != ' ';
  if (bare) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

}  // namespace meanwhile::data
