// Linear models in the table of learners.
#pragma once

#include "meanwhile/learn/entry.h"
#include "meanwhile/learn/linear/parameters.h"

namespace meanwhile::learn::linear {

Entry entry(Kind kind);

}  // namespace meanwhile::learn::linear
