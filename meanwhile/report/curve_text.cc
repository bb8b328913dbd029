// Curves as characters. With Unicode a character is 2 x 4 dots of braille, otherwise one dot.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "meanwhile/report/axis.h"
#include "meanwhile/report/curve.h"

namespace meanwhile::report {

namespace {

struct Alphabet {
  int dots_x, dots_y;  // of a character
  std::array<const char*, 6> points;
  const char *mark, *mark_line, *band, *side, *side_tick, *corner, *bottom, *bottom_tick;
};
constexpr Alphabet kUnicode = {
    2, 4, {"●", "○", "▲", "△", "■", "□"}, "▼", "┊", "░", "│", "┤", "└", "─", "┬"};
constexpr Alphabet kAscii = {1,   1,  {"*", "o", "+", "x", "#", "@"}, "v", ":", "~", "|", "+", "+",
                             "-", "+"};

constexpr int kColumnsBetweenPoints = 6, kColumnsPerTick = 10, kRowsPerTick = 3,
              kRowsPerLogTick = 2;
constexpr int kDash = 6;  // dots

// Columns of UTF-8 text whose characters are all one wide.
int columns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// One line of it, no wider than so.
std::string fitted(std::string_view text, int width) {
  std::string line;
  int used = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++used > width) break;
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return line;
}

class Canvas {
 public:
  Canvas(const Alphabet& letters, int width, int height)
      : letters_(letters),
        width_(width),
        height_(height),
        cells_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

  int dots_x() const { return width_ * letters_.dots_x; }
  int dots_y() const { return height_ * letters_.dots_y; }

  // From the top left.
  void dot(int x, int y) {
    static constexpr std::uint8_t kBits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    Cell& cell = at(x / letters_.dots_x, y / letters_.dots_y);
    cell.dots |= kBits[y % letters_.dots_y][x % letters_.dots_x];
  }
  void point(int x, int y, std::size_t series) {
    at(x / letters_.dots_x, y / letters_.dots_y).point =
        letters_.points[series % letters_.points.size()];
  }
  void behind(int column, int row, const char* what) {
    Cell& cell = at(column, row);
    if (cell.behind == nullptr) cell.behind = what;
  }

  std::string row(int row) const {
    std::string text;
    for (int column = 0; column < width_; ++column) {
      const Cell& cell = cells_[index(column, row)];
      if (cell.point != nullptr) {
        text += cell.point;
      } else if (cell.dots != 0 && letters_.dots_y > 1) {
        // U+2800 and the dots.
        text += {static_cast<char>(0xE2), static_cast<char>(0xA0 | (cell.dots >> 6)),
                 static_cast<char>(0x80 | (cell.dots & 0x3F))};
      } else if (cell.dots != 0) {
        text += '.';
      } else {
        text += cell.behind != nullptr ? cell.behind : " ";
      }
    }
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }

 private:
  struct Cell {
    std::uint8_t dots = 0;
    const char* point = nullptr;
    const char* behind = nullptr;
  };
  std::size_t index(int column, int row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(column);
  }
  Cell& at(int column, int row) { return cells_[index(column, row)]; }

  const Alphabet& letters_;
  int width_, height_;
  std::vector<Cell> cells_;
};

class Picture {
 public:
  Picture(const Curve& curve, int width, int height, const Alphabet& letters)
      : curve_(curve),
        letters_(letters),
        width_(width),
        y_(y_axis(curve, height / (curve.log_y ? kRowsPerLogTick : kRowsPerTick) + 1)),
        gutter_(gutter(y_, width)),
        columns_(width - gutter_ - 1),
        rows_(height),
        x_(x_axis(curve, columns_ / kColumnsPerTick + 1)),
        canvas_(letters, columns_, rows_) {}

  std::string text() {
    draw_mark();
    draw_band();
    for (std::size_t i = 0; i < curve_.series.size(); ++i) draw_series(i);
    std::string text;
    if (!curve_.title.empty()) text += fitted(curve_.title, width_) + '\n';
    if (!curve_.y_label.empty()) text += fitted(curve_.y_label, width_) + '\n';
    if (has_mark()) text += mark_line() + '\n';
    for (int row = 0; row < rows_; ++row) text += side(row) + canvas_.row(row) + '\n';
    return text + bottom() + legend();
  }

 private:
  static int gutter(const Axis& axis, int width) {
    int widest = 1;
    for (const Tick& tick : axis.ticks) widest = std::max(widest, columns(tick.label));
    return std::min(widest + 1, width / 2);
  }
  bool has_mark() const { return curve_.mark && x_.shows(curve_.mark->x); }
  int column_of(double x) const { return static_cast<int>(std::lround(x_.at(x) * (columns_ - 1))); }
  int row_of(double y) const { return static_cast<int>(std::lround((1 - y_.at(y)) * (rows_ - 1))); }
  int dot_x(double x) const {
    return static_cast<int>(std::lround(x_.at(x) * (canvas_.dots_x() - 1)));
  }
  int dot_y(double y) const {
    return static_cast<int>(std::lround((1 - y_.at(y)) * (canvas_.dots_y() - 1)));
  }

  void draw_series(std::size_t index);
  void draw_band();
  void draw_mark();
  std::string mark_line() const;
  std::string side(int row) const;
  std::string bottom() const;
  std::string legend() const;

  const Curve& curve_;
  const Alphabet& letters_;
  int width_;
  Axis y_;
  int gutter_, columns_, rows_;
  Axis x_;
  Canvas canvas_;
};

void Picture::draw_series(std::size_t index) {
  const Series& series = curve_.series[index];
  int from_x = 0, from_y = 0;
  bool joined = false;  // to the point before
  int drawn = 0;        // dots, for dashes
  int next_point = 0;
  for (const auto& [x, y] : series.points) {
    if (!x_.shows(x) || !y_.shows(y)) {
      joined = false;
      continue;
    }
    const int to_x = dot_x(x), to_y = dot_y(y);
    if (!joined) from_x = to_x, from_y = to_y;
    const int steps = std::max({1, std::abs(to_x - from_x), std::abs(to_y - from_y)});
    for (int i = 0; i <= steps; ++i, ++drawn) {
      if (series.dashed && drawn % (2 * kDash) >= kDash) continue;
      canvas_.dot(from_x + (to_x - from_x) * i / steps, from_y + (to_y - from_y) * i / steps);
    }
    // Points tell the lines apart. Where there are many, some do.
    if (!joined || to_x >= next_point) {
      canvas_.point(to_x, to_y, index);
      next_point = to_x + kColumnsBetweenPoints * letters_.dots_x;
    }
    from_x = to_x;
    from_y = to_y;
    joined = true;
  }
}

void Picture::draw_band() {
  const Interval* before = nullptr;
  for (const Interval& interval : curve_.band) {
    const bool shown = x_.shows(interval.x) && y_.shows(interval.low) && y_.shows(interval.high);
    if (shown) {
      const Interval& from = before != nullptr ? *before : interval;
      const int first = column_of(from.x), last = column_of(interval.x);
      for (int column = first; column <= last; ++column) {
        const double part = last > first ? 1.0 * (column - first) / (last - first) : 1;
        const double top = (1 - part) * row_of(from.high) + part * row_of(interval.high);
        const double end = (1 - part) * row_of(from.low) + part * row_of(interval.low);
        for (auto row = std::lround(top); row <= std::lround(end); ++row) {
          canvas_.behind(column, static_cast<int>(row), letters_.band);
        }
      }
    }
    before = shown ? &interval : nullptr;
  }
}

void Picture::draw_mark() {
  if (!has_mark()) return;
  for (int row = 0; row < rows_; ++row) {
    canvas_.behind(column_of(curve_.mark->x), row, letters_.mark_line);
  }
}

// The arrow is above the line; the text is on the side where it has room.
std::string Picture::mark_line() const {
  const int column = gutter_ + 1 + column_of(curve_.mark->x);
  const int right = width_ - column - 2;
  const int wide = columns(curve_.mark->label);
  if (wide <= right || column - 1 < right) {
    return std::string(static_cast<std::size_t>(column), ' ') + letters_.mark +
           (right > 0 ? fmt::format(" {}", fitted(curve_.mark->label, right)) : "");
  }
  const std::string label = fitted(curve_.mark->label, column - 1);
  return std::string(static_cast<std::size_t>(column - 1 - columns(label)), ' ') + label + " " +
         letters_.mark;
}

std::string Picture::side(int row) const {
  for (const Tick& tick : y_.ticks) {
    if (row_of(tick.value) != row) continue;
    const std::string label = fitted(tick.label, gutter_ - 1);
    return std::string(static_cast<std::size_t>(gutter_ - 1 - columns(label)), ' ') + label + " " +
           letters_.side_tick;
  }
  return std::string(static_cast<std::size_t>(gutter_), ' ') + letters_.side;
}

std::string Picture::bottom() const {
  std::vector<bool> ticks(static_cast<std::size_t>(columns_), false);
  std::string labels(static_cast<std::size_t>(width_), ' ');
  int free = 0;  // columns from here on
  for (const Tick& tick : x_.ticks) {
    ticks[static_cast<std::size_t>(column_of(tick.value))] = true;
    const int wide = columns(tick.label);
    const int middle = gutter_ + 1 + column_of(tick.value) - wide / 2;
    const int at = std::clamp(middle, 0, std::max(0, width_ - wide));
    if (at < free || at + wide > width_) continue;
    labels.replace(static_cast<std::size_t>(at), tick.label.size(), tick.label);
    free = at + wide + 1;
  }
  std::string text(static_cast<std::size_t>(gutter_), ' ');
  text += letters_.corner;
  for (const bool tick : ticks) text += tick ? letters_.bottom_tick : letters_.bottom;
  while (labels.ends_with(' ')) labels.pop_back();
  text += '\n' + labels + '\n';
  if (curve_.x_label.empty()) return text;
  const std::string label = fitted(curve_.x_label, width_);
  const int middle = gutter_ + 1 + (columns_ - columns(label)) / 2;
  const int at = std::clamp(middle, 0, width_ - columns(label));
  return text + std::string(static_cast<std::size_t>(at), ' ') + label + '\n';
}

// "● plan   ○ measured   ░ may be", on as many lines as it takes.
std::string Picture::legend() const {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < curve_.series.size(); ++i) {
    const Series& series = curve_.series[i];
    if (series.name.empty()) continue;
    items.push_back(fmt::format("{} {}{}", letters_.points[i % letters_.points.size()], series.name,
                                series.dashed ? " (dashed)" : ""));
  }
  if (!curve_.band.empty() && !curve_.band_label.empty()) {
    items.push_back(fmt::format("{} {}", letters_.band, curve_.band_label));
  }
  std::string text, line;
  for (const std::string& item : items) {
    const std::string shown = fitted(item, width_ - 2);
    if (!line.empty() && columns(line) + 3 + columns(shown) > width_) {
      text += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "  " : "   ") + shown;
  }
  return line.empty() ? text : text + line + '\n';
}

}  // namespace

std::string as_text(const Curve& curve, int width, int height, bool unicode) {
  return Picture(curve, std::max(width, kLeastWidth), std::max(height, kLeastHeight),
                 unicode ? kUnicode : kAscii)
      .text();
}

}  // namespace meanwhile::report
