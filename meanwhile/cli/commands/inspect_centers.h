// The centres of k-means as people compare them.
#pragma once

#include <string>

#include "meanwhile/base/json.h"

namespace meanwhile::cli {

// A line for each column of the data: its mean over all rows, then its value in each cluster. Empty
// if the model's description `about` has no centres.
std::string centers_shown(const base::Json& about);

}  // namespace meanwhile::cli
