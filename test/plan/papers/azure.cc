#include "test/plan/papers/azure.h"

#include <cmath>

namespace meanwhile::plan::papers {

namespace {

double map_seconds(const Clustering& c) { return 3 * c.N * c.K * c.D * c.F; }
double blob_seconds(const Clustering& c) { return c.K * c.D * c.B; }

}  // namespace

int reducers(int P) { return static_cast<int>(std::ceil(std::sqrt(P))); }

int processing_units(int P) { return P + reducers(P) + 1; }

double sequential_seconds(const Clustering& c) { return c.I * map_seconds(c); }

double seconds(const Clustering& c, int P) {
  return c.I * (map_seconds(c) / P + 2 * reducers(P) * blob_seconds(c)) + c.N * c.D / P * c.B;
}

double theoretical_efficiency(const Clustering& c, int P) {
  return sequential_seconds(c) / seconds(c, P) / processing_units(P);
}

double smooth_seconds(const Clustering& c, double P) {
  return c.I * (map_seconds(c) / P + 2 * std::sqrt(P) * blob_seconds(c));
}

double best_workers(const Clustering& c) { return best_workers(c, 0); }

double best_workers(const Clustering& c, double B2) {
  return std::pow(3 * c.N * c.F / (c.B + 0.5 * B2), 2.0 / 3);
}

double best_seconds(const Clustering& c) { return smooth_seconds(c, best_workers(c)); }

double best_speedup(double best_workers) { return best_workers / 3; }

double growth(double x1, double y1, double x2, double y2) {
  return std::log(y2 / y1) / std::log(x2 / x1);
}

double machine_price(int processing_units, double hours) {
  constexpr double kHour = 0.10;
  return processing_units * hours * kHour;
}

}  // namespace meanwhile::plan::papers
