// Ratings in Matrix Market's coordinate form (.mtx): entry (i, j) is user i's rating of item j.
#pragma once

#include <filesystem>

#include "meanwhile/learn/factorize/ratings_input.h"

namespace meanwhile::learn::factorize {

// Names are numbers from 1. THROWS Error(kInput) with file and line.
RatingList read_matrix_market(const std::filesystem::path& path);

}  // namespace meanwhile::learn::factorize
