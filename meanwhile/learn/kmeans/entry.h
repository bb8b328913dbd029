// k-means in the table of learners.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::kmeans {

Entry entry();

}  // namespace meanwhile::learn::kmeans
