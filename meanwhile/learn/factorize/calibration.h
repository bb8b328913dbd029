// Ratings with which `calibrate` measures factorization.
#pragma once

#include <vector>

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::factorize {

// Alternating least squares and SGD, each on few and on many ratings.
std::vector<CalibrationShape> calibration(bool quick);

}  // namespace meanwhile::learn::factorize
