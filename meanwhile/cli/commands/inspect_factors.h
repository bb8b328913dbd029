// Describes a factor graph after one pass over it.
#pragma once

#include "meanwhile/base/json.h"
#include "meanwhile/data/files/factors/factor_graph.h"

namespace meanwhile::cli {

// Variables and their states, factors by the number of their variables, tables, parts that are not
// joined, and whether belief propagation is exact: no loops.
base::Json describe_factors(const data::FactorGraph& graph);

}  // namespace meanwhile::cli
