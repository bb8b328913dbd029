// How good clusters are on data.
#pragma once

#include <cstdint>

#include "meanwhile/base/threads.h"
#include "meanwhile/learn/kmeans/model.h"

namespace meanwhile::learn::kmeans {

// Measures of the model on `data`, which doc/measures.md defines: distances, the silhouette of at
// most `silhouette_sample` rows (0: none), and agreement with labels where the data has some.
// THROWS Error(kInput) when columns do not fit the model.
Json measure(const Model& model, const data::Dataset& data, base::Threads threads,
             std::int64_t silhouette_sample, std::uint64_t seed);

}  // namespace meanwhile::learn::kmeans
