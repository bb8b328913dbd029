// Linear models by accelerated proximal gradient descent, in the plainest way: shares no code with
// what it verifies.
//
//   Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm" (2009), restarted where
//   it would go up (O'Donoghue and Candes, 2015)
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "test/learn/linear_data.h"

namespace meanwhile::test {

struct SerialLinear {
  Labelled data;  // y: class numbers, or what is to be predicted
  std::string loss;
  std::size_t classes = 2;  // 0: regression
  bool softmax = false;
  bool intercept = true;
  double l1 = 0, l2 = 0, delta = 1;
  double rounding = 0;              // of the corner of the hinge
  std::vector<double> factor = {};  // of a column's weights in the penalties; empty: 1
  std::vector<double> class_weight = {};

  std::size_t outputs() const { return classes > 2 ? classes : 1; }
  std::size_t D() const { return static_cast<std::size_t>(data.cols); }

  // The loss of one output, at margin z with y in {-1, 1} or a number; slope by z.
  double row_loss(double z, double y, double& slope) const {
    if (loss == "squared" || loss == "huber") {
      const double r = z - y;
      const bool far = loss == "huber" && std::abs(r) > delta;
      slope = far ? std::copysign(delta, r) : r;
      return far ? delta * std::abs(r) - delta * delta / 2 : r * r / 2;
    }
    const double m = y * z;
    if (loss == "logistic") {
      slope = -y / (1 + std::exp(m));
      return m < -30 ? -m : std::log(1 + std::exp(-m));
    }
    slope = 0;
    if (m >= 1) return 0;
    if (loss == "squared_hinge") {
      slope = -2 * y * (1 - m);
      return (1 - m) * (1 - m);
    }
    if (1 - m < rounding) {
      slope = -y * (1 - m) / rounding;
      return (1 - m) * (1 - m) / (2 * rounding);
    }
    slope = -y;
    return 1 - m - rounding / 2;
  }

  double row_loss(const std::vector<double>& z, double label, std::vector<double>& slopes) const {
    if (softmax) {
      const double largest = *std::max_element(z.begin(), z.end());
      double sum = 0;
      for (const double value : z) sum += std::exp(value - largest);
      for (std::size_t c = 0; c < z.size(); ++c) {
        slopes[c] = std::exp(z[c] - largest) / sum - (static_cast<double>(c) == label ? 1 : 0);
      }
      return std::log(sum) + largest - z[static_cast<std::size_t>(label)];
    }
    double sum = 0;
    for (std::size_t c = 0; c < z.size(); ++c) {
      const double wanted = z.size() == 1 ? 1 : static_cast<double>(c);
      const double y = classes == 0 ? label : label == wanted ? 1 : -1;
      sum += row_loss(z[c], y, slopes[c]);
    }
    return sum;
  }

  // Mean loss and its gradient.
  double mean_loss(const std::vector<double>& w, std::vector<double>& g) const {
    const std::size_t C = outputs();
    g.assign(w.size(), 0.0);
    double sum = 0, weights = 0;
    std::vector<double> z(C), slopes(C);
    for (std::size_t i = 0; i < data.rows(); ++i) {
      double weight = data.weights.empty() ? 1 : data.weights[i];
      if (!class_weight.empty()) weight *= class_weight[static_cast<std::size_t>(data.y[i])];
      for (std::size_t c = 0; c < C; ++c) {
        z[c] = w[D() * C + c];
        for (std::size_t j = 0; j < D(); ++j) z[c] += data.x[i * D() + j] * w[j * C + c];
      }
      sum += weight * row_loss(z, data.y[i], slopes);
      weights += weight;
      for (std::size_t c = 0; c < C; ++c) {
        for (std::size_t j = 0; j < D(); ++j) {
          g[j * C + c] += weight * slopes[c] * data.x[i * D() + j];
        }
        if (intercept) g[D() * C + c] += weight * slopes[c];
      }
    }
    for (double& slope : g) slope /= weights;
    return sum / weights;
  }

  double factor_of(std::size_t i) const { return factor.empty() ? 1 : factor[i / outputs()]; }

  double objective(const std::vector<double>& w) const {
    std::vector<double> g;
    double sum = mean_loss(w, g);
    for (std::size_t i = 0; i < D() * outputs(); ++i) {
      const double scaled = w[i] * factor_of(i);
      sum += l1 * std::abs(scaled) + l2 / 2 * scaled * scaled;
    }
    return sum;
  }

  std::vector<double> solve(int most_steps = 30000) const {
    const std::size_t C = outputs(), P = (D() + 1) * C;
    double norms = 0, steep = 0;
    for (const double value : data.x) norms += value * value;
    for (std::size_t i = 0; i < D() * C; ++i) steep = std::max(steep, factor_of(i) * factor_of(i));
    const double curvature = loss == "squared_hinge" ? 2 : rounding > 0 ? 1 / rounding : 1;
    const double heaviest =
        data.weights.empty() && class_weight.empty() ? 1 : 20;  // a bound for tests' weights
    const double step =
        1 / (curvature * heaviest * (norms / static_cast<double>(data.rows()) + 1) + l2 * steep);
    std::vector<double> w(P), ahead(P), next(P), g;
    double t = 1;
    for (int k = 0; k < most_steps; ++k) {
      mean_loss(ahead, g);
      double up = 0, moved = 0;
      for (std::size_t i = 0; i < P; ++i) {
        const double f = i < D() * C ? factor_of(i) : 0;
        const double to = ahead[i] - step * (g[i] + l2 * f * f * ahead[i]), pay = step * l1 * f;
        next[i] = to > pay ? to - pay : to < -pay ? to + pay : 0;
        up += (ahead[i] - next[i]) * (next[i] - w[i]);
        moved = std::max(moved, std::abs(next[i] - w[i]));
      }
      if (up > 0) t = 1;
      const double later = (1 + std::sqrt(1 + 4 * t * t)) / 2;
      for (std::size_t i = 0; i < P; ++i) {
        ahead[i] = next[i] + (t - 1) / later * (next[i] - w[i]);
      }
      w = next;
      t = later;
      if (k > 100 && moved < 1e-13) break;
    }
    return w;
  }
};

}  // namespace meanwhile::test
