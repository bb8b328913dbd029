// LDA in the table of learners.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::lda {

Entry entry();

}  // namespace meanwhile::learn::lda
