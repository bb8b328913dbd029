// Ratings as `convert` writes them: sparse rows in a safetensors file (doc/formats.md), with the
// names of users and items.
#pragma once

#include <filesystem>

#include "meanwhile/data/dataset.h"

namespace meanwhile::learn::factorize {

// Whether `path` is such a file. Reads no more than its header.
bool holds_ratings(const std::filesystem::path& path);
// Mapped. THROWS Error(kInput).
data::Dataset read_ratings_file(const std::filesystem::path& path);
void write_ratings_file(const std::filesystem::path& path, const data::Dataset& ratings);

}  // namespace meanwhile::learn::factorize
