// Columns matched by name, for a model whose columns have names.
#pragma once

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// The data with the columns of `to`. Each column moves to the column of its name; columns of one
// name are added up. Columns of other names are dropped and their values are added to `unknown`.
// REQUIRES: data has feature_names. THROWS Error(kInput) if it is dense.
Dataset match_columns(const Dataset& data, const Vocabulary& to);

}  // namespace meanwhile::data
