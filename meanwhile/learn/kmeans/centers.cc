#include "meanwhile/learn/kmeans/centers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meanwhile::learn::kmeans {

namespace {

// Measures of the centres about the shift before they are packed.
struct Measured {
  std::vector<double> norm2;  // |c'|^2
  double largest = 0;         // of |c'_j|
};

double about(const Centers& c, std::int64_t k, std::int64_t j) {
  return c.center(k)[j] - double{c.shift[static_cast<std::size_t>(j)]};
}

Measured measure(const Centers& c) {
  Measured measured;
  for (std::int64_t k = 0; k < c.K; ++k) {
    double norm2 = 0;
    for (std::int64_t j = 0; j < c.D; ++j) {
      const double value = about(c, k, j);
      norm2 += value * value;
      measured.largest = std::max(measured.largest, std::abs(value));
    }
    measured.norm2.push_back(norm2);
  }
  return measured;
}

void pack_float32(Centers& c, const Measured& measured, float range) {
  // Products of float32 neither overflow nor vanish when the numbers are about 1.
  const double size = std::max(c.max_norm, double{range});
  c.scale =
      size > 0 ? std::exp2(static_cast<float>(std::clamp(-std::ilogb(size), -100, 100))) : 1.0F;
  const double scale = double{c.scale};
  const std::int64_t padded = round_up(c.K, kPanel);
  c.panels.assign(static_cast<std::size_t>(padded * c.D), 0.0F);
  c.bias.assign(static_cast<std::size_t>(padded), -std::numeric_limits<float>::infinity());
  for (std::int64_t k = 0; k < c.K; ++k) {
    float* panel = c.panels.data() + k / kPanel * kPanel * c.D + k % kPanel;
    for (std::int64_t j = 0; j < c.D; ++j) {
      panel[j * kPanel] = static_cast<float>(about(c, k, j) * scale);
    }
    const double half_norm2 = 0.5 * measured.norm2[static_cast<std::size_t>(k)] * scale * scale;
    c.bias[static_cast<std::size_t>(k)] =
        c.metric == Metric::kEuclidean ? static_cast<float>(-half_norm2) : 0.0F;
  }
}

// False when the numbers do not fit.
bool pack_int8(Centers& c, const Measured& measured, float range) {
  const auto fits = [](double value) { return value > 1e-30 && value < 1e30; };
  if (c.D > kMaxInt8Cols || !fits(double{range}) || !fits(measured.largest)) return false;
  c.step_x = range / 127.0F;
  c.step_c = static_cast<float>(measured.largest / 127.0);
  const double step = double{c.step_c}, unit = double{c.step_x} * step;

  const std::int64_t padded = round_up(c.K, kPanel), groups = round_up(c.D, 4) / 4;
  c.panels8.assign(static_cast<std::size_t>(padded * groups * 4), 0);
  // Far below anything a real centre can reach, yet no sum with a dot product overflows.
  c.bias8.assign(static_cast<std::size_t>(padded), std::numeric_limits<std::int32_t>::min() / 2);
  c.max_error = 0;
  for (std::int64_t k = 0; k < c.K; ++k) {
    double bias = 0;
    if (c.metric == Metric::kEuclidean)
      bias = -0.5 * measured.norm2[static_cast<std::size_t>(k)] / unit;
    if (!(bias > -5e8)) return false;
    std::int32_t levels = 0;
    std::int8_t* panel = c.panels8.data() + (k / kPanel * groups * kPanel + k % kPanel) * 4;
    double error2 = 0;
    for (std::int64_t j = 0; j < c.D; ++j) {
      const double value = about(c, k, j);
      const int level = std::clamp(static_cast<int>(std::lrint(value / step)), -127, 127);
      const double error = value - level * step;
      error2 += error * error;
      panel[j / 4 * kPanel * 4 + j % 4] = static_cast<std::int8_t>(level);
      levels += level;
    }
    c.bias8[static_cast<std::size_t>(k)] =
        static_cast<std::int32_t>(std::lround(bias)) - 128 * levels;
    c.max_error = std::max(c.max_error, std::sqrt(error2));
  }
  return true;
}

}  // namespace

Centers prepare(Metric metric, std::span<const double> centers, std::int64_t K, std::int64_t D,
                const Spread& spread, Screen wanted) {
  Centers c;
  c.metric = metric;
  c.K = K;
  c.D = D;
  c.stride = round_up(D, kLanes);
  c.exact.assign(static_cast<std::size_t>(K * c.stride), 0.0);
  for (std::int64_t k = 0; k < K; ++k) {
    std::copy_n(centers.data() + k * D, D, c.exact.data() + k * c.stride);
  }
  c.shift.assign(static_cast<std::size_t>(D), 0.0F);
  if (metric == Metric::kEuclidean && !spread.shift.empty()) c.shift = spread.shift;

  const Measured measured = measure(c);
  c.max_norm = std::sqrt(*std::max_element(measured.norm2.begin(), measured.norm2.end()));
  c.screen = wanted;
  if (wanted == Screen::kInt8 && pack_int8(c, measured, spread.range)) return c;
  c.screen = Screen::kFloat32;
  pack_float32(c, measured, spread.range);
  // Beyond these sizes float32 holds neither rows nor scores. No bound on the error says so, and
  // every centre is compared exactly.
  const double size = std::max(c.max_norm, double{spread.range});
  if (size != 0 && !(size > 1e-34 && size < 1e34)) {
    c.max_norm = std::numeric_limits<double>::infinity();
  }
  return c;
}

}  // namespace meanwhile::learn::kmeans
