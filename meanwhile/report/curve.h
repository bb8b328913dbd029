// Curves, drawn as text for a terminal and as SVG for everything else. Pure: nothing is printed,
// and the same curves give the same bytes.
//
//   report::Curve curve{.title = "speedup", .x_label = "workers", .series = {{"plan", points}}};
//   console.out(report::as_text(curve, 72, 16));
//
// Points that cannot be drawn (not finite, not above zero on a logarithmic axis) are left out, and
// the line has a gap there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace meanwhile::report {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // in the order in which they are joined
  bool dashed = false;
};

// From low to high at x: where a value may well be.
struct Interval {
  double x = 0, low = 0, high = 0;
};

// An x that is looked for: the best number of workers.
struct Mark {
  double x = 0;
  std::string label;
};

struct Curve {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool log_x = false, log_y = false;
  std::vector<Interval> band = {};  // of the first series; empty: none
  std::string band_label = {};
  std::optional<Mark> mark = {};
};

inline constexpr int kLeastWidth = 24, kLeastHeight = 3;

// Title, axes, `height` rows of lines, legend; each line ends with '\n' and none is wider than
// `width` columns. Smaller sizes than the least are taken for these. Not `unicode`: ASCII alone,
// but for what the texts of the curve hold.
std::string as_text(const Curve& curve, int width, int height, bool unicode = true);

// A panel for each curve, two in a row, in one SVG file that needs nothing else: no script, no
// fonts, colours for light and dark surroundings.
std::string as_svg(std::span<const Curve> curves);

}  // namespace meanwhile::report
