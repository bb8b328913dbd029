#include "meanwhile/data/files/file_start.h"

#include <algorithm>
#include <utility>

#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

FileStart::FileStart(std::string_view first_bytes, bool documents_expected)
    : bytes(first_bytes), expect_documents(documents_expected) {
  constexpr std::size_t kLines = 8;
  for (std::string_view rest = bytes; !rest.empty() && lines.size() < kLines;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line = std::string(rest.substr(0, end)) + '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with('#')) continue;
    std::vector<std::string> tokens;
    for (const char* p = skip_blanks(line.data()); *p != '\n';) {
      tokens.emplace_back(token_at(p));
      p = skip_blanks(p + tokens.back().size());
    }
    if (!tokens.empty()) lines.push_back(std::move(tokens));
  }
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  return !text.empty() && detail::from_chars(text.data(), end, value) == end;
}

}  // namespace meanwhile::data
