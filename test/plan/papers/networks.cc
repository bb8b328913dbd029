#include "test/plan/papers/networks.h"

#include <cmath>

namespace meanwhile::plan::papers {

namespace {

struct Counts {
  std::int64_t weights, maps, places, multiply_adds;
};

Counts counts_of(const Layer& layer) {
  if (const auto* full = std::get_if<FullyConnected>(&layer)) {
    const std::int64_t weights = full->inputs * full->outputs;
    return {weights, full->outputs, 1, weights};
  }
  const auto& convolution = std::get<Convolution>(layer);
  const std::int64_t weights =
      convolution.maps * convolution.size * convolution.size * convolution.depth;
  const std::int64_t places = convolution.places() * convolution.places();
  return {weights, convolution.maps, places, weights * places};
}

double send_seconds(const Descent& d) { return d.bits * d.W / d.B; }

}  // namespace

std::int64_t parameters(std::span<const Layer> layers, Bias bias) {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) {
    const Counts counts = counts_of(layer);
    sum += counts.weights;
    if (bias != Bias::kNone) sum += counts.maps * (bias == Bias::kPlace ? counts.places : 1);
  }
  return sum;
}

std::int64_t multiply_adds(std::span<const Layer> layers) {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += counts_of(layer).multiply_adds;
  return sum;
}

std::vector<Layer> fully_connected(std::span<const std::int64_t> sizes) {
  std::vector<Layer> layers;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    layers.push_back(FullyConnected{sizes[i - 1], sizes[i]});
  }
  return layers;
}

double descent_seconds(const Descent& d, int n) {
  return d.C * d.S / (d.F * n) + 2 * send_seconds(d) * std::log2(n);
}

double spark_seconds(const Descent& d, int n) {
  return d.C * d.S / (d.F * n) + send_seconds(d) * std::log2(n) +
         2 * send_seconds(d) * std::ceil(std::sqrt(n));
}

double instance_seconds(const Descent& d, int n) {
  return (d.C * d.S / d.F + 2 * send_seconds(d) * std::log2(n)) / n;
}

double general_seconds(double c, double d, int n) { return c / n + d * std::log2(n); }

Descent spark_mnist() {
  const double W = 12e6;
  return {.C = 6 * W, .S = 60000, .W = W, .F = 0.8 * 105.6e9, .B = 1e9, .bits = 64};
}

Descent inception_printed() {
  return {.C = 3 * 5e9, .S = 128, .W = 25e6, .F = 0.5 * 4.28e12, .B = 1e9, .bits = 32};
}

Descent inception_published() {
  Descent d = inception_printed();
  d.C = 2 * 3 * 5e9;
  d.F = 0.5 * 4.29e12;
  return d;
}

}  // namespace meanwhile::plan::papers
