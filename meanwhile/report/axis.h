// The scale of an axis: from values to a place between 0 and 1, and round numbers along it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "meanwhile/report/curve.h"

namespace meanwhile::report {

struct Tick {
  double value = 0;
  std::string label;
};

struct Axis {
  double low = 0, high = 1;
  bool log = false;
  std::vector<Tick> ticks;  // ascending, from low to high; at least two

  // Whether a value has a place.
  bool shows(double value) const;
  // 0 at low, 1 at high. REQUIRES: shows(value).
  double at(double value) const;
};

// An axis with room for all values that can be drawn, with at most `most` ticks, but at least two,
// or three where 0 is between. They are multiples of 1, 2 or 5 times a power of ten, and so are the
// ends; an axis of positive values begins at 0 unless they lie close together.
Axis axis_of(std::span<const double> values, bool log, int most);

// Axes with room for lines, band and mark.
Axis x_axis(const Curve& curve, int most);
Axis y_axis(const Curve& curve, int most);

}  // namespace meanwhile::report
