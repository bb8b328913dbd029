// First centres that come from a file instead of a seeding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meanwhile::learn::kmeans {

struct InitialCenters {
  std::vector<double> values;  // rows x cols, row-major
  std::int64_t rows = 0, cols = 0;
};

// The centres in a run directory, a k-means model, or a data file, whose rows they are.
// THROWS Error(kUsage) when `path` is no file, Error(kInput) when it cannot be read.
InitialCenters read_centers(const std::string& path);

}  // namespace meanwhile::learn::kmeans
