// Tokens between blanks. REQUIRES: the text ends with '\n', so no loop here checks for its end.
#pragma once

#include <cstddef>
#include <string_view>

namespace meanwhile::data {

// '\r' is a blank, so that lines may end with "\r\n".
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

inline std::string_view token_at(const char* p) {
  const char* end = p;
  while (!is_blank(*end) && *end != '\n') ++end;
  return {p, static_cast<std::size_t>(end - p)};
}

}  // namespace meanwhile::data
