#include "meanwhile/learn/lda/alpha.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "meanwhile/learn/lda/special.h"

namespace meanwhile::learn::lda {

namespace {

constexpr double kLeastAlpha = 1e-4, kMostAlpha = 100;
constexpr int kSteps = 100;

// The derivative of digamma: recurrence up to 10, then the asymptotic series.
double trigamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / (x * x);
  const double r = 1 / (x * x);
  return sum + 1 / x + r / 2 +
         r / x * (1. / 6 - r * (1. / 30 - r * (1. / 42 - r * (1. / 30 - r * 5. / 66))));
}

}  // namespace

std::vector<double> likeliest_alpha(std::span<const double> mean_log_theta,
                                    std::span<const double> start) {
  const std::size_t K = start.size();
  std::vector<double> alpha(start.begin(), start.end()), digamma(K), gradient(K), curve(K);
  if (K == 1) return alpha;  // all mixtures are the same under any
  for (int i = 0; i < kSteps; ++i) {
    double sum = 0;
    for (const double a : alpha) sum += a;
    vector_digamma(alpha, digamma);
    const double whole[] = {sum};
    double digamma_sum[1];
    vector_digamma(whole, digamma_sum);
    // The Hessian is diag(-trigamma(alpha)) + trigamma(sum): its inverse times the gradient.
    double above = 0, below = 1 / trigamma(sum);
    for (std::size_t k = 0; k < K; ++k) {
      gradient[k] = digamma_sum[0] - digamma[k] + mean_log_theta[k];
      curve[k] = -trigamma(alpha[k]);
      above += gradient[k] / curve[k];
      below += 1 / curve[k];
    }
    const double shared = above / below;
    double largest = 0;
    for (std::size_t k = 0; k < K; ++k) {
      const double wanted = alpha[k] - (gradient[k] - shared) / curve[k];
      // Newton may overshoot: at most to a tenth or tenfold.
      const double next =
          std::clamp(std::clamp(wanted, alpha[k] / 10, alpha[k] * 10), kLeastAlpha, kMostAlpha);
      largest = std::max(largest, std::abs(next / alpha[k] - 1));
      alpha[k] = next;
    }
    if (largest < 1e-6) break;
  }
  return alpha;
}

}  // namespace meanwhile::learn::lda
