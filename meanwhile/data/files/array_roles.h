// Columns of an array that are labels or weights, or to be left out.
#pragma once

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// Whether columns of an array are not all features: options name others, or those of the model's
// training were not.
bool has_array_roles(const ReadOptions& options);

// The data with labels and weights taken from its columns; a copy unless all columns are features.
// REQUIRES: has_array_roles(options). THROWS Error(kUsage, kInput) as find_roles and match_fields,
// and for sparse data.
Dataset take_array_roles(Dataset data, const ReadOptions& options);

}  // namespace meanwhile::data
