// Measures of a model as a person reads them.
#pragma once

#include <string>

#include "meanwhile/base/json.h"

namespace meanwhile::cli {

inline constexpr std::size_t kClassesShown = 20;

// A line for each measure; for a classifier a table of its classes and one of confusion, too, with
// the most frequent kClassesShown of the classes and a note of the others.
std::string measures_shown(base::Json measures);

}  // namespace meanwhile::cli
