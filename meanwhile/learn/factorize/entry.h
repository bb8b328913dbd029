// The entry of `factorize` in the table of learners.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::factorize {

Entry entry();

}  // namespace meanwhile::learn::factorize
