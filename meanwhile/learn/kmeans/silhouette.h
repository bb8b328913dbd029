// How well clusters are apart, by Rousseeuw, "Silhouettes: a graphical aid to the interpretation
// and validation of cluster analysis" (1987).
//
// A row has a, its mean distance to the other rows of its cluster, and b, the least of its mean
// distances to the rows of another cluster. Its silhouette is (b - a) / max(a, b), and 0 where it
// is alone in its cluster. Distances are Euclidean (not squared), or 1 - cosine. Each row counts
// once, whatever it weighs. Cost: n^2 distances for n rows, so a sample is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/learn/kmeans/parameters.h"

namespace meanwhile::learn::kmeans {

// Numbers of `sample` of the rows, ascending; of all rows if there are no more. A pure function of
// its arguments: the rows whose random numbers are the smallest.
std::vector<std::int64_t> silhouette_rows(std::int64_t rows, std::int64_t sample,
                                          std::uint64_t seed);

// The mean silhouette of the rows `ids` of `x`, among these rows alone; labels[i] >= 0 is the
// cluster of row ids[i]. None where they are all in one cluster, or each in a cluster of its own.
// The number of threads does not change a bit.
std::optional<double> silhouette(const data::Matrix& x, std::span<const std::int64_t> ids,
                                 std::span<const std::int32_t> labels, Metric metric,
                                 base::Threads threads);

}  // namespace meanwhile::learn::kmeans
