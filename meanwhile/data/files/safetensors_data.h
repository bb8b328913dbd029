// Data sets in safetensors files; doc/formats.md names the tensors and the metadata.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// The data set in `bytes`, as views that `owner` keeps alive (`mapped`: the bytes are a mapped
// file). A tensor that is not aligned, or has another type than it must have, is copied. Row starts
// and columns of sparse data are checked, so that every row() is in bounds; values may be NaN or
// infinite: see check_finite. A file of other software (without our metadata) must hold a tensor
// "x", or sparse data under our names, or a single tensor of F32 or F64 with one or two dimensions.
// THROWS Error(kInput), `name` first.
Dataset read_safetensors(std::span<const std::byte> bytes, const std::string& name,
                         std::shared_ptr<const void> owner, bool mapped);

}  // namespace meanwhile::data
