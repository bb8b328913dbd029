// A learner that the library does not know: the means of the columns, by gradient steps. This
// folder and one line of a registry are all it takes; new_learner_test.cc runs the program with it.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::column_means {

Entry entry();

}  // namespace meanwhile::learn::column_means
