#include "test/plan/papers/compare.h"

#include <cassert>
#include <cmath>

namespace meanwhile::plan::papers {

double mape(std::span<const double> measured, std::span<const double> model) {
  assert(measured.size() == model.size() && !measured.empty());
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    sum += std::abs(measured[i] - model[i]) / measured[i];
  }
  return 100 * sum / static_cast<double>(measured.size());
}

std::vector<double> speedups(const Seconds& seconds, std::span<const int> workers, int reference) {
  std::vector<double> result;
  for (const int n : workers) result.push_back(seconds(reference) / seconds(n));
  return result;
}

int best_workers(const Seconds& seconds, int from, int to) {
  int best = from;
  for (int n = from + 1; n <= to; ++n) {
    if (seconds(n) < seconds(best)) best = n;
  }
  return best;
}

}  // namespace meanwhile::plan::papers
