// Some rows of a data set, in memory of their own.
#pragma once

#include <cstdint>
#include <span>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// The rows of these numbers, in this order, with their weights, labels and the names.
Dataset pick_rows(const Dataset& data, std::span<const std::int64_t> rows);

}  // namespace meanwhile::data
