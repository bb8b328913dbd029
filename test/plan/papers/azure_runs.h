// Runs published in "K-means on Azure": N = 500000, D = K = 1000, 10 iterations.
#pragma once

#include <array>

namespace meanwhile::plan::papers {

struct AzureRun {
  int P;
  double seconds, speedup, efficiency, theoretical_efficiency;
};

inline constexpr std::array<AzureRun, 14> kAzureRuns = {{
    {10, 2223, 10.0, 0.67, 0.63},
    {50, 657, 34.1, 0.58, 0.61},
    {60, 574, 39.0, 0.57, 0.60},
    {70, 551, 40.6, 0.51, 0.55},
    {80, 560, 40.0, 0.44, 0.53},
    {90, 525, 42.6, 0.42, 0.49},
    {95, 521, 43.0, 0.41, 0.48},
    {100, 539, 41.5, 0.37, 0.47},
    {110, 544, 41.2, 0.34, 0.43},
    {120, 544, 41.2, 0.31, 0.41},
    {130, 574, 39.0, 0.27, 0.37},
    {140, 603, 37.1, 0.24, 0.36},
    {150, 605, 37.0, 0.23, 0.33},
    {160, 674, 33.2, 0.19, 0.32},
}};

struct AzureScaleup {
  double N;
  int best_workers;
  double seconds, sequential, effective_speedup, estimated_speedup;
};

inline constexpr std::array<AzureScaleup, 4> kAzureScaleups = {{
    {62500, 27, 264, 2798, 10.6, 9},
    {125000, 45, 306, 5597, 18.29, 15},
    {250000, 78, 384, 11194, 29.15, 26},
    {500000, 95, 521, 22388, 43.0, 31.6},
}};

}  // namespace meanwhile::plan::papers
