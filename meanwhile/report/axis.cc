#include "meanwhile/report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace meanwhile::report {

namespace {

// Differences and quotients of what is drawn are numbers, too.
constexpr double kMost = 1e150;

bool drawable(double value, bool log) {
  return std::isfinite(value) && std::abs(value) < kMost && (!log || value > 1 / kMost);
}

// "0.25", "40", "20k", "3M"; as many digits as tell values apart that differ by `step`.
std::string label_of(double value, double step) {
  static constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  if (std::abs(value) < step / 2) return "0";
  std::size_t unit = 0;
  double shown = value;
  if (std::abs(value) >= 9999.5) {
    while (unit + 1 < kUnits.size() && std::abs(shown) >= 999.5) {
      shown /= 1000;
      ++unit;
    }
  }
  const double digits = std::ceil(std::log10(std::abs(value) / step) - 1e-9) + 1;
  return fmt::format("{:.{}g}{}", shown, static_cast<int>(std::clamp(digits, 4.0, 15.0)),
                     kUnits[unit]);
}

// The smallest of 1, 2, 5 times a power of ten that is no less than `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= least * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

Axis linear_axis(double low, double high, int most) {
  if (low >= 0 && low < 0.75 * high) low = 0;
  if (high <= 0 && high > 0.75 * low) high = 0;
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= size * 1e-12) {  // all equal
    low = std::min(low, low >= 0 ? 0 : 2 * low);
    high = std::max(high, high > 0 ? 2 * high : 0);
    if (low == high) high = 1;
  }
  Axis axis;
  double step = round_step((high - low) / std::max(1, most - 1));
  const int enough = std::max(most, low < 0 && high > 0 ? 3 : 2);  // 0 is always a tick
  // Rounding outwards may add two.
  for (;; step = round_step(step * 1.5)) {
    axis.low = std::floor(low / step + 1e-9) * step;
    axis.high = std::ceil(high / step - 1e-9) * step;
    if (std::lround((axis.high - axis.low) / step) < enough) break;
  }
  const long first = std::lround(axis.low / step), last = std::lround(axis.high / step);
  for (long i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    axis.ticks.push_back({value, label_of(value, step)});
  }
  return axis;
}

// 1, 2, 5, 10, 20, ...; 0 is 1.
double third(long nth) {
  static constexpr std::array<double, 3> kTimes = {1, 2, 5};
  const long power = nth >= 0 ? nth / 3 : -((2 - nth) / 3);
  return kTimes[static_cast<std::size_t>(nth - 3 * power)] *
         std::pow(10.0, static_cast<double>(power));
}

// Ends at 1, 2 or 5 times a power of ten; ticks at all of these, or at powers, or at some powers.
Axis log_axis(double low, double high, int most) {
  if (high <= low * (1 + 1e-12)) {
    low /= 2;
    high *= 2;
  }
  long first = 3 * std::lround(std::floor(std::log10(low))) - 3;
  while (third(first + 1) <= low * (1 + 1e-9)) ++first;
  long last = first + 1;
  while (third(last) < high * (1 - 1e-9)) ++last;
  Axis axis{third(first), third(last), true, {}};
  const auto add_every = [&](long by) {
    for (long i = first; i <= last; ++i) {
      if (i % by == 0) axis.ticks.push_back({third(i), label_of(third(i), third(i))});
    }
  };
  long by = 1;
  while ((last - first) / by >= most) by = by == 1 ? 3 : by + 3;
  add_every(by);
  if (axis.ticks.size() < 2) {
    axis.ticks = {{axis.low, label_of(axis.low, axis.low)},
                  {axis.high, label_of(axis.high, axis.high)}};
  }
  return axis;
}

}  // namespace

bool Axis::shows(double value) const {
  return drawable(value, log) && value >= low - (high - low) * 1e-9 &&
         value <= high + (high - low) * 1e-9;
}

double Axis::at(double value) const {
  const double place =
      log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(place, 0.0, 1.0);
}

Axis axis_of(std::span<const double> values, bool log, int most) {
  double low = log ? 1 : 0, high = log ? 10 : 1;
  bool any = false;
  for (const double value : values) {
    if (!drawable(value, log)) continue;
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  return log ? log_axis(low, high, most) : linear_axis(low, high, most);
}

Axis x_axis(const Curve& curve, int most) {
  std::vector<double> values;
  for (const Series& series : curve.series) {
    for (const auto& point : series.points) {
      if (drawable(point.second, curve.log_y)) values.push_back(point.first);
    }
  }
  for (const Interval& interval : curve.band) values.push_back(interval.x);
  if (curve.mark) values.push_back(curve.mark->x);
  return axis_of(values, curve.log_x, most);
}

Axis y_axis(const Curve& curve, int most) {
  std::vector<double> values;
  for (const Series& series : curve.series) {
    for (const auto& point : series.points) {
      if (drawable(point.first, curve.log_x)) values.push_back(point.second);
    }
  }
  for (const Interval& interval : curve.band) {
    values.push_back(interval.low);
    values.push_back(interval.high);
  }
  return axis_of(values, curve.log_y, most);
}

}  // namespace meanwhile::report
