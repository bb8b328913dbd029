// A scorer as C: one file that needs the standard library alone.
#pragma once

#include <string>
#include <string_view>

#include "meanwhile/exports/scorer.h"

namespace meanwhile::exports {

// `about`: text of the comment at the top; any. The file compiles as C99 and
// later, and as C++, without warnings.
std::string c_source(const Scorer& scorer, std::string_view about);

// The text as a string literal of C, quotes included: printable ASCII, no trigraphs.
std::string c_literal(std::string_view text);

}  // namespace meanwhile::exports
