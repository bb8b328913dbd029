// Factor graphs with which `calibrate` measures belief propagation.
#pragma once

#include <vector>

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::belief {

// Grids of binary variables.
std::vector<CalibrationShape> calibration(bool quick);

}  // namespace meanwhile::learn::belief
