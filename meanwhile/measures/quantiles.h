// Quantiles of weighted numbers.
#pragma once

#include <span>
#include <vector>

namespace meanwhile::measures {

// For each share p of `shares`: the least of `values` such that it and what is below it have at
// least the share p of all weight. `weights`: empty, or one a value; values that weigh nothing are
// left out. NaN where nothing has weight, or a value is NaN.
std::vector<double> quantiles(std::span<const double> values, std::span<const double> weights,
                              std::span<const double> shares);

}  // namespace meanwhile::measures
