// Errors inside a chunk of text. A parser reports an offset in the chunk; the driver, which knows
// where the chunk is in the file, turns it into line and column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace meanwhile::data {

struct BadText {
  std::size_t offset;  // of the offending byte from the start of the chunk
  std::string message;
  std::string place = {};  // a name for the place, such as "field 6 (cut)"; empty: its column
};

// `text` in quotes for a message: at most 40 bytes of it, control bytes escaped; "nothing" if
// empty.
std::string in_quotes(std::string_view text);

bool is_utf8(std::string_view text);

// The value of ReadOptions::dtype that makes values of type T.
template <class T>
constexpr std::string_view type_name() {
  return std::is_same_v<T, float> ? "float32" : "float64";
}

// The message for a `token` that is not a value of `type` ("float32"), with what to do about it.
// `advice` is for a token that is not a number at all.
std::string not_a_value(std::string_view token, std::string_view type, std::string_view advice);

}  // namespace meanwhile::data
