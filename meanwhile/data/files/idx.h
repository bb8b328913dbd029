// IDX, the format of the MNIST files: a big-endian header, then the values.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// The array in `bytes`, converted to `dtype`. The first dimension counts the rows, the others are
// flattened to columns. Values may be NaN or infinite: see check_finite.
// THROWS Error(kInput), `name` first.
Dataset read_idx(std::span<const std::byte> bytes, const std::string& name, DType dtype);

}  // namespace meanwhile::data
