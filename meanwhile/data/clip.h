// Fewer columns of the same rows.
#pragma once

#include <cstdint>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// `data` without the columns from `cols` on: features that a model has never seen. A copy of the
// values that stay. REQUIRES: data is sparse and 0 < cols < its columns.
Dataset clip_columns(const Dataset& data, std::int64_t cols);
}  // namespace meanwhile::data
