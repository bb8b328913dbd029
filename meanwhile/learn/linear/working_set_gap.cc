// A lower bound of the minimum, from the slopes of any model.
//
// squared        s = scale (z - y - shift); f*(s) = s^2 / 2 + s y
// squared hinge  s = -y u, u = factor scale 2 max(0, 1 - yz); f*(s) = u^2 / 4 - u
// logistic       s = -y u, u = factor scale / (1 + exp(yz)); f*(s) = u log u + (1 - u) log(1 - u)
// = h(u)
//
// The first two are polynomials of the scale, so one pass over the rows serves for every scale.
// The scale of h is known only after the pass, when gradients are summed: h(k u) is bounded from
// above, by convexity (k h(u), since h(0) = 0) and by Taylor with the remainder h'' <= 1 / (v (1 -
// v)):
//   h(k u) <= h(u) - (1 - k) u h'(u) + (1 - k)^2 / (2 k) exp(-yz).
// Either makes the bound lower, never wrong.
#include "meanwhile/learn/linear/working_set_gap.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meanwhile::learn::linear {

namespace {

// Sums of squared loss: residual, its square, residual * label, label; the square of the label.
constexpr std::size_t kLabelSquared = DualSums::kEach;

double square(double x) { return x * x; }

}  // namespace

void DualSums::add(Loss loss, double z, double y, double weight, double centre) {
  double* to = values.data() + side_of(loss, y) * kEach;
  if (loss == Loss::kSquared) {
    const double r = z - y, label = y - centre;
    to[0] += weight * r;
    to[1] += weight * r * r;
    to[2] += weight * r * label;
    to[3] += weight * label;
    values[kLabelSquared] += weight * label * label;
    return;
  }
  const double margin = y * z;
  if (loss == Loss::kSquaredHinge) {
    const double u = 2 * std::max(0.0, 1 - margin);
    to[0] += weight * u;
    to[1] += weight * u * u;
    return;
  }
  const double e = std::exp(-std::abs(margin));
  const double u = margin > 0 ? e / (1 + e) : 1 / (1 + e);
  const double value = margin > 0 ? std::log1p(e) : -margin + std::log1p(e);
  to[0] += weight * u;
  to[1] -= weight * (value + u * margin);  // h(u)
  to[2] -= weight * u * margin;            // u h'(u)
  to[3] += weight * std::exp(-margin);
}

DualPoint balanced(Loss loss, const DualSums& sums, double weight, bool intercept) {
  DualPoint point;
  if (!intercept) return point;
  if (loss == Loss::kSquared) {
    point.shift = sums.of(0, 0) / weight;
    return point;
  }
  const double negative = sums.of(0, 0), positive = sums.of(1, 0),
               least = std::min(negative, positive);
  point.factor = {negative > 0 ? least / negative : 0, positive > 0 ? least / positive : 0};
  return point;
}

double dual_of_rows(Loss loss, const DualSums& sums, double weight, const DualPoint& point,
                    double scale) {
  if (loss == Loss::kSquared) {
    const double squares = sums.of(0, 1) - point.shift * sums.of(0, 0);
    const double labels = sums.of(0, 2) - point.shift * sums.of(0, 3);
    return -(0.5 * scale * scale * squares + scale * labels) / weight;
  }
  double value = 0;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const double k = scale * point.factor[side], rest = 1 - k;
    if (k == 0) continue;
    if (loss == Loss::kSquaredHinge) {
      value += k * sums.of(side, 0) - 0.25 * k * k * sums.of(side, 1);
      continue;
    }
    const double h = sums.of(side, 1);
    double most = k * h;
    if (rest == 0) {
      most = h;
    } else {
      most = std::min(most, h - rest * sums.of(side, 2) + rest * rest / (2 * k) * sums.of(side, 3));
    }
    value -= most;
  }
  return value / weight;
}

namespace {

// The best scale without constraints.
double best_scale(Loss loss, const DualSums& sums, const DualPoint& point) {
  if (loss == Loss::kLogistic) return 1;
  if (loss == Loss::kSquared) {
    const double squares = sums.of(0, 1) - point.shift * sums.of(0, 0);
    const double labels = sums.of(0, 2) - point.shift * sums.of(0, 3);
    return squares > 0 ? std::max(0.0, -labels / squares) : 1;
  }
  const auto& f = point.factor;
  const double squares = f[0] * f[0] * sums.of(0, 1) + f[1] * f[1] * sums.of(1, 1);
  const double slopes = f[0] * sums.of(0, 0) + f[1] * sums.of(1, 0);
  return squares > 0 ? 2 * slopes / squares : 1;
}

}  // namespace

void choose_scale(Loss loss, const DualSums& sums, double weight,
                  std::span<const DualColumn> columns, DualPoint& point) {
  // With L2 every scale is allowed, and a good one is that of the lasso whose rows have one more
  // for each column.
  double most = std::numeric_limits<double>::infinity();
  bool constrained = false;
  for (const DualColumn& column : columns) {
    const double t = std::abs(column.along - column.l2 * column.w);
    if (t * most > column.l1) most = column.l1 / t;
    constrained |= column.l2 == 0;
  }
  const double best = best_scale(loss, sums, point);
  const auto value_at = [&](double scale) {
    double conjugate = 0;
    for (const DualColumn& column : columns) {
      if (column.l2 == 0) continue;
      const double over = scale * std::abs(column.along) - column.l1;
      if (over > 0) conjugate += over * over / (2 * column.l2);
    }
    return dual_of_rows(loss, sums, weight, point, scale) - conjugate;
  };
  point.scale = std::min(best, most);
  point.value = value_at(point.scale);
  if (constrained) return;
  for (const double scale : {best, 1.0}) {
    const double value = value_at(scale);
    if (value > point.value) point.scale = scale, point.value = value;
  }
}

double safe_radius(Loss loss, double gap) {
  const double convexity = loss == Loss::kLogistic ? 4 : loss == Loss::kSquaredHinge ? 0.5 : 1;
  return std::sqrt(2 * std::max(0.0, gap) / convexity);
}

NullModel null_model(Loss loss, double positive, bool intercept) {
  NullModel null;
  const double negative = 1 - positive;
  if (loss == Loss::kLogistic) {
    null.loss = std::log(2.0);
    if (!intercept || positive <= 0 || negative <= 0) return null;
    null.intercept = std::log(positive / negative);
    null.loss = -(positive * std::log(positive) + negative * std::log(negative));
    return null;
  }
  null.intercept = intercept ? positive - negative : 0;
  null.loss = positive * square(1 - null.intercept) + negative * square(1 + null.intercept);
  return null;
}

double second_derivative(Loss loss, double z, double y) {
  if (loss == Loss::kSquared) return 1;
  if (loss == Loss::kSquaredHinge) return y * z < 1 ? 2 : 0;
  const double e = std::exp(-std::abs(z));
  return e / square(1 + e);
}

}  // namespace meanwhile::learn::linear
