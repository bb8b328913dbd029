// Belief propagation in the table of learners.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::belief {

Entry entry();

}  // namespace meanwhile::learn::belief
