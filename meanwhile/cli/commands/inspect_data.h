// Describes a data set after one pass over it.
#pragma once

#include "meanwhile/data/dataset.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::cli {

// Shape, weights, labels and their classes, and of the first columns name, minimum, maximum, mean.
base::Json describe_data(const data::Dataset& data);

}  // namespace meanwhile::cli
