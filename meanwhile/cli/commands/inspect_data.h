// A description of data as people read it.
#pragma once

#include <string>

#include "meanwhile/base/json.h"

namespace meanwhile::cli {

// Text of what data::describe() found: a line for each fact, then one for each column.
std::string described(const base::Json& found);

}  // namespace meanwhile::cli
