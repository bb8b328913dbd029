// Data whose columns have names, for a model that knows columns by name.
#pragma once

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// The data with the columns of `to`: each column goes where its name is, columns of other names are
// dropped and their values added to `unknown`. Columns of one name are added up.
// REQUIRES: data has feature_names. THROWS Error(kInput) when it is dense.
Dataset match_columns(const Dataset& data, const Vocabulary& to);

}  // namespace meanwhile::data
