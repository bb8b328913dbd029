// Graphs with which `calibrate` measures learners of graphs.
#pragma once

#include <vector>

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::graph {

// Kronecker graphs, whose hubs are those of real ones: a small one, and unless `quick` a large one.
std::vector<CalibrationShape> graph_calibration(const Json& parameters, bool quick);

}  // namespace meanwhile::learn::graph
