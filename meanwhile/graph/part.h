// Graphs, and other sparse rows that are cut rather than dealt, as a worker holds them.
#pragma once

#include "meanwhile/data/part.h"

namespace meanwhile::graph {

// The part of a worker that is the only one: all rows, in `shards` ranges of about as many stored
// values each (cut.h); 0: data::default_shards(). THROWS Error(kUsage) when the rows are not
// sparse.
data::Part whole(data::Dataset rows, int shards, int threads);

}  // namespace meanwhile::graph
