// The duality gap of a linear model with L1, and what it says of columns.
//
// With s_i a slope for each row (f* the conjugate of the loss, W the sum of weights) the dual is
//
//   D(s) = -(1/W) sum of weight_i f*(s_i)  -  sum over columns of penalty*(t_j),
//   t_j  = -(1/W) sum of weight_i s_i x_ij,
//
// where the sum of weight_i s_i is 0 if there is an intercept, and D(s) <= minimum <= P(w, b) for
// every s that the constraints allow: |t_j| <= l1_j where there is no L2. The slopes of a model
// nearly are such an s; they are balanced, for the intercept, and scaled.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/learn/linear/loss.h"

namespace meanwhile::learn::linear {

// Sums of the rows for the dual, at the margins of a model, by side. Rows of a loss for classes are
// on side 1 where y = 1, else on side 0; those of regression are all on side 0.
struct DualSums {
  static constexpr std::size_t kEach = 4, kSize = 2 * kEach;
  std::array<double, kSize> values{};

  // Adds a row at margin z. `centre`: of the labels of regression, any number near their mean.
  void add(Loss loss, double z, double y, double weight, double centre);
  double of(std::size_t side, std::size_t k) const { return values[side * kEach + k]; }
};

inline std::size_t side_of(Loss loss, double y) { return classifies(loss) && y > 0 ? 1 : 0; }

// The point of the dual that belongs to a model: its slopes times a factor for each side, less a
// shift (regression alone).
struct DualPoint {
  std::array<double, 2> factor{1, 1};  // that balance the sides; before scaling
  double shift = 0;
  double scale = 1;
  double value = 0;  // of the dual

  // t_j / scale. `gradient`: sums of weight * slope * x by side; `mean`: weighted mean of the
  // column.
  double along(std::span<const double> gradient, double mean, double weight) const {
    const double sum = gradient.size() == 1 ? gradient[0] - shift * mean * weight
                                            : factor[0] * gradient[0] + factor[1] * gradient[1];
    return -sum / weight;
  }
};

// A column as the dual sees it.
struct DualColumn {
  double along = 0;  // t_j / scale
  double l1 = 0, l2 = 0;
  double w = 0;  // of the model
};

// Balances the sides where there is an intercept.
DualPoint balanced(Loss loss, const DualSums& sums, double weight, bool intercept);

// Chooses the scale and fills in scale and value. `columns`: all that take part.
void choose_scale(Loss loss, const DualSums& sums, double weight,
                  std::span<const DualColumn> columns, DualPoint& point);

// The dual without its columns, at this scale.
double dual_of_rows(Loss loss, const DualSums& sums, double weight, const DualPoint& point,
                    double scale);

// Gap-safe screening (Ndiaye and others, 2017): |t_j| of the optimum is at most that of the point
// plus norm_j times this radius. `gap`: at least that of the point.
double safe_radius(Loss loss, double gap);

// Intercept and mean loss of the model without weights, for classes. `positive`: their part of the
// weight.
struct NullModel {
  double intercept = 0, loss = 0;
};
NullModel null_model(Loss loss, double positive, bool intercept);

// The second derivative of the loss in z (of the squared hinge: on the side where it is not zero).
double second_derivative(Loss loss, double z, double y);

}  // namespace meanwhile::learn::linear
