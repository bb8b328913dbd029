// The losses of linear models, as functions of the margin or prediction z of a row.
//
//   classification, y in {-1, 1}:   hinge           max(0, 1 - y z)
//                                   squared_hinge   max(0, 1 - y z)^2
//                                   logistic        log(1 + exp(-y z))
//   regression, r = z - y:          squared         r^2 / 2
//                                   huber           r^2 / 2 where |r| <= delta,
//                                                   else delta |r| - delta^2 / 2
//
// Softmax (several classes at once) is in softmax() below.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "meanwhile/learn/choice.h"

namespace meanwhile::learn::linear {

enum class Loss { kHinge, kSquaredHinge, kLogistic, kSquared, kHuber };
inline constexpr Named<Loss> kLosses[] = {{Loss::kHinge, "hinge"},
                                          {Loss::kSquaredHinge, "squared_hinge"},
                                          {Loss::kLogistic, "logistic"},
                                          {Loss::kSquared, "squared"},
                                          {Loss::kHuber, "huber"}};
constexpr std::span<const Named<Loss>> names(Loss) { return kLosses; }

// A loss with its constants.
struct LossFunction {
  Loss loss = Loss::kHinge;
  double delta = 1;      // Huber's
  double smoothing = 0;  // hinge only: the corner is a parabola of this width (0: a corner)

  double value(double z, double y) const {
    switch (loss) {
      case Loss::kHinge: {
        const double gap = 1 - y * z;
        if (gap <= 0) return 0;
        if (gap < smoothing) return gap * gap / (2 * smoothing);
        return gap - smoothing / 2;
      }
      case Loss::kSquaredHinge: {
        const double gap = std::max(0.0, 1 - y * z);
        return gap * gap;
      }
      case Loss::kLogistic: {
        const double margin = y * z;
        return margin > 0 ? std::log1p(std::exp(-margin)) : -margin + std::log1p(std::exp(margin));
      }
      case Loss::kSquared:
        return 0.5 * (z - y) * (z - y);
      case Loss::kHuber: {
        const double r = std::abs(z - y);
        return r <= delta ? 0.5 * r * r : delta * (r - 0.5 * delta);
      }
    }
    return 0;
  }

  // The derivative by z. At a corner: that of the flat side.
  double slope(double z, double y) const {
    switch (loss) {
      case Loss::kHinge: {
        const double gap = 1 - y * z;
        if (gap <= 0) return 0;
        return gap < smoothing ? -y * gap / smoothing : -y;
      }
      case Loss::kSquaredHinge:
        return -2 * y * std::max(0.0, 1 - y * z);
      case Loss::kLogistic: {
        const double margin = y * z;
        const double e = std::exp(-std::abs(margin));
        return -y * (margin > 0 ? e / (1 + e) : 1 / (1 + e));
      }
      case Loss::kSquared:
        return z - y;
      case Loss::kHuber:
        return std::clamp(z - y, -delta, delta);
    }
    return 0;
  }

  // About the second derivative where rows are: an upper bound where there is one; of the hinge,
  // what served best.
  double curvature() const {
    switch (loss) {
      case Loss::kHinge:
        return 0.5;
      case Loss::kLogistic:
        return 0.25;
      case Loss::kSquaredHinge:
        return 2;
      default:
        return 1;
    }
  }
};

// For classes 0 .. z.size() - 1 of which `y` is the right one: returns -log(softmax(z)[y]) and
// leaves the derivatives by z in z.
inline double softmax(std::span<double> z, std::size_t y) {
  const double largest = *std::max_element(z.begin(), z.end());
  const double right = z[y] - largest;
  double sum = 0;
  for (double& value : z) sum += value = std::exp(value - largest);
  for (double& value : z) value /= sum;
  z[y] -= 1;
  return std::log(sum) - right;
}

inline bool classifies(Loss loss) { return loss != Loss::kSquared && loss != Loss::kHuber; }

}  // namespace meanwhile::learn::linear
