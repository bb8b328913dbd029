// Data sets cut to fewer columns.
#pragma once

#include <cstdint>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// A copy of `data` without the columns from `cols` on, which are features that a model has never
// seen. REQUIRES: `data` is sparse and 0 < cols < cols(data.x).
Dataset clip_columns(const Dataset& data, std::int64_t cols);
}  // namespace meanwhile::data
