#include "meanwhile/learn/kmeans/centers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meanwhile::learn::kmeans {

namespace {

// Centres about the shift, K x D.
std::vector<double> shifted(const Centers& c) {
  std::vector<double> moved(static_cast<std::size_t>(c.K * c.D));
  for (std::int64_t k = 0; k < c.K; ++k) {
    for (std::int64_t j = 0; j < c.D; ++j) {
      moved[static_cast<std::size_t>(k * c.D + j)] =
          c.center(k)[j] - double{c.shift[static_cast<std::size_t>(j)]};
    }
  }
  return moved;
}

void pack_float32(Centers& c, const std::vector<double>& moved, const std::vector<double>& norm2,
                  float range) {
  // Products of float32 neither overflow nor vanish when the numbers are about 1.
  const double size = std::max(c.max_norm, double{range});
  c.scale =
      size > 0 ? static_cast<float>(std::exp2(std::clamp(-std::ilogb(size), -100, 100))) : 1.0F;
  const double scale = double{c.scale};
  const std::int64_t padded = round_up(c.K, kPanel);
  c.panels.assign(static_cast<std::size_t>(padded * c.D), 0.0F);
  c.bias.assign(static_cast<std::size_t>(padded), -std::numeric_limits<float>::infinity());
  for (std::int64_t k = 0; k < c.K; ++k) {
    float* panel = c.panels.data() + k / kPanel * kPanel * c.D + k % kPanel;
    for (std::int64_t j = 0; j < c.D; ++j) {
      panel[j * kPanel] = static_cast<float>(moved[static_cast<std::size_t>(k * c.D + j)] * scale);
    }
    const bool has_bias = c.metric == Metric::kEuclidean;
    c.bias[static_cast<std::size_t>(k)] =
        has_bias ? static_cast<float>(-0.5 * norm2[static_cast<std::size_t>(k)] * scale * scale)
                 : 0.0F;
  }
}

// False when the numbers do not fit.
bool pack_int8(Centers& c, const std::vector<double>& moved, const std::vector<double>& norm2,
               float range) {
  if (c.D > kMaxInt8Cols || !(range > 0)) return false;
  double largest = 0;
  for (const double value : moved) largest = std::max(largest, std::abs(value));
  if (!(largest > 1e-30) || !(largest < 1e30) || !(range > 1e-30F) || !(range < 1e30F))
    return false;
  c.step_x = range / 127.0F;
  c.step_c = static_cast<float>(largest / 127.0);
  const double unit = double{c.step_x} * double{c.step_c};

  const std::int64_t padded = round_up(c.K, kPanel), groups = round_up(c.D, 4) / 4;
  c.panels8.assign(static_cast<std::size_t>(padded * groups * 4), 128);
  // Far below anything a real centre can reach, yet no sum with a dot product overflows.
  c.bias8.assign(static_cast<std::size_t>(padded), std::numeric_limits<std::int32_t>::min() / 2);
  c.max_error = 0;
  for (std::int64_t k = 0; k < c.K; ++k) {
    const double bias =
        c.metric == Metric::kEuclidean ? -0.5 * norm2[static_cast<std::size_t>(k)] / unit : 0;
    if (!(bias > -5e8)) return false;
    c.bias8[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(std::lround(bias));
    std::uint8_t* panel = c.panels8.data() + (k / kPanel * groups * kPanel + k % kPanel) * 4;
    double error2 = 0;
    for (std::int64_t j = 0; j < c.D; ++j) {
      const double value = moved[static_cast<std::size_t>(k * c.D + j)];
      const double level = std::clamp(std::nearbyint(value / double{c.step_c}), -127.0, 127.0);
      const double error = value - level * double{c.step_c};
      error2 += error * error;
      panel[j / 4 * kPanel * 4 + j % 4] = static_cast<std::uint8_t>(static_cast<int>(level) + 128);
    }
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

  const std::vector<double> moved = shifted(c);
  std::vector<double> norm2(static_cast<std::size_t>(K), 0.0);
  for (std::int64_t k = 0; k < K; ++k) {
    for (std::int64_t j = 0; j < D; ++j) {
      const double value = moved[static_cast<std::size_t>(k * D + j)];
      norm2[static_cast<std::size_t>(k)] += value * value;
    }
    c.max_norm = std::max(c.max_norm, std::sqrt(norm2[static_cast<std::size_t>(k)]));
  }
  c.screen = wanted;
  if (wanted == Screen::kInt8 && pack_int8(c, moved, norm2, spread.range)) return c;
  c.screen = Screen::kFloat32;
  pack_float32(c, moved, norm2, spread.range);
  return c;
}

}  // namespace meanwhile::learn::kmeans
