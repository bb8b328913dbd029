// How well a model of a paper fits what was measured.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace meanwhile::plan::papers {

// Mean absolute percentage error: 100 times the mean of |measured - model| / measured.
// REQUIRES: as many of the one as of the other, at least one, and none measured is 0.
double mape(std::span<const double> measured, std::span<const double> model);

using Seconds = std::function<double(int)>;  // of so many workers

// seconds(reference) / seconds(n) of each n.
std::vector<double> speedups(const Seconds& seconds, std::span<const int> workers,
                             int reference = 1);
// The fewest of from..to workers that take the least time.
int best_workers(const Seconds& seconds, int from, int to);

}  // namespace meanwhile::plan::papers
