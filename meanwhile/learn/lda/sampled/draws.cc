#include "meanwhile/learn/lda/sampled/draws.h"

#include <algorithm>

namespace meanwhile::learn::lda::sampled {

std::vector<Alias> aliases_of(std::span<const double> weights) {
  const std::size_t n = weights.size();
  double sum = 0;
  for (const double weight : weights) sum += weight;
  // Without any weight all are as likely.
  const double scale = sum > 0 ? static_cast<double>(n) / sum : 0;
  std::vector<double> left(n);
  std::vector<std::size_t> small, large;
  for (std::size_t i = 0; i < n; ++i) {
    left[i] = weights[i] * scale;
    (left[i] < 1 ? small : large).push_back(i);
  }
  std::vector<Alias> aliases(n);
  const auto put = [&](std::size_t at, double part, std::size_t other) {
    aliases[at] = {static_cast<std::uint32_t>(std::clamp(part * 0x1p32, 0.0, 0x1p32 - 1)),
                   static_cast<std::uint32_t>(other)};
  };
  while (!small.empty() && !large.empty()) {
    const std::size_t less = small.back(), more = large.back();
    small.pop_back();
    put(less, left[less], more);
    left[more] -= 1 - left[less];
    if (left[more] < 1) {
      large.pop_back();
      small.push_back(more);
    }
  }
  // The rest is 1 but for rounding.
  for (const std::size_t i : small) put(i, 1, i);
  for (const std::size_t i : large) put(i, 1, i);
  return aliases;
}

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000): accepts more than
// 95 % of the time. Normal variates are Box and Muller's.
double draw_gamma(double shape, const base::Random& random, std::uint64_t index) {
  std::uint64_t next = index << 8;
  // In (0, 1].
  const auto uniform = [&] { return 1 - random.uniform(next++); };
  const double boost = shape < 1 ? std::pow(uniform(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (int tries = 0; tries < 80; ++tries) {
    const double normal =
        std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    const double root = 1 + c * normal;
    const double limit = uniform();
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(limit) < 0.5 * normal * normal + d - d * v + d * std::log(v)) return boost * d * v;
  }
  return boost * d;  // after 80 rejections, which no run of numbers has
}

}  // namespace meanwhile::learn::lda::sampled
