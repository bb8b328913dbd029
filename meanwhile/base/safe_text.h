// Text that came from outside, made fit to be shown.
#pragma once

#include <string>
#include <string_view>

namespace meanwhile::base {

// Secrets that text names as such become "***": signatures (sig=..., in any case and encoded),
// keys (AccountKey=..., SharedKey NAME:...), and what stands before '@' in SCHEME://NAME:KEY@.
std::string redacted(std::string_view text);

// Bytes that a terminal may act on become text: "\x1b" for an escape. Ends of lines, tabs and
// printable UTF-8 stay; control characters, marks that change the direction of text, and bytes that
// are not UTF-8 do not. JSON stays JSON that says the same.
std::string printable(std::string_view text);

}  // namespace meanwhile::base
