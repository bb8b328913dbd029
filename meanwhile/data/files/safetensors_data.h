// Data sets in safetensors files; doc/formats.md names the tensors and the metadata.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// The data set in `bytes`, as views that `owner` keeps alive (`mapped` says that they are a mapped
// file). What is not aligned to its elements, or is of another type than it must be, is copied.
// Row starts and columns of sparse data are checked, so that every row() is in bounds; values may
// be NaN or infinite: see check_finite.
// A file without metadata of ours is read if it holds a tensor "x", or sparse data under our names,
// or just one tensor of F32 or F64 with one or two dimensions.
// THROWS Error(kInput), `name` first.
Dataset read_safetensors(std::span<const std::byte> bytes, const std::string& name,
                         std::shared_ptr<const void> owner, bool mapped);

// The same of a mapped file without a look at its rows: starts, columns, weights and labels may be
// anything (see row_checks.h). Sparse data that does not say how many columns it has is checked
// after all.
Dataset map_safetensors(std::span<const std::byte> bytes, const std::string& name,
                        std::shared_ptr<const void> owner);

}  // namespace meanwhile::data
