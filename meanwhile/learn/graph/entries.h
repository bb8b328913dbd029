// The learners of graphs.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn::graph {

Entry pagerank_entry();
Entry components_entry();
Entry spread_entry();
Entry kcore_entry();

}  // namespace meanwhile::learn::graph
