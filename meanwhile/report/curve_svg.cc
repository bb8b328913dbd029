// Curves as SVG. Styles are classes with a colour each for light and dark, as not every renderer
// knows variables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "meanwhile/report/axis.h"
#include "meanwhile/report/curve.h"

namespace meanwhile::report {

namespace {

constexpr double kPanelWidth = 460, kPanelHeight = 330, kMargin = 12, kGap = 24;
constexpr double kLeft = 58, kRight = 18, kBottom = 46;  // of a panel, round its lines
constexpr double kTitle = 24, kLegendRow = 18, kYLabel = 20, kMarkRow = 16;
constexpr double kFont = 12, kBold = 16.5;  // for widths: 15 px of bold letters
constexpr int kTicksX = 8, kTicksY = 6, kTicksLogY = 9;
constexpr std::size_t kColours = 6;

constexpr const char* kStyle = R"(
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .soft { fill: #57606a }
  .paper { fill: #ffffff }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .axis { stroke: #57606a; stroke-width: 1 }
  .mark { stroke: #57606a; stroke-width: 1; stroke-dasharray: 2 3 }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
  .dashed { stroke-dasharray: 7 6 }
  .band { stroke: none; opacity: 0.16 }
  .s0 { stroke: #0062a8 } .s1 { stroke: #c24e00 } .s2 { stroke: #007a5a }
  .s3 { stroke: #a8478a } .s4 { stroke: #6b52c8 } .s5 { stroke: #6e7781 }
  .f0 { fill: #0062a8 } .f1 { fill: #c24e00 } .f2 { fill: #007a5a }
  .f3 { fill: #a8478a } .f4 { fill: #6b52c8 } .f5 { fill: #6e7781 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .soft { fill: #9da7b3 }
    .paper { fill: #0d1117 }
    .grid { stroke: #2b323b }
    .axis { stroke: #9da7b3 }
    .mark { stroke: #9da7b3 }
    .s0 { stroke: #58b0f0 } .s1 { stroke: #f09a4a } .s2 { stroke: #3fc795 }
    .s3 { stroke: #e58cc8 } .s4 { stroke: #a996f5 } .s5 { stroke: #9da7b3 }
    .f0 { fill: #58b0f0 } .f1 { fill: #f09a4a } .f2 { fill: #3fc795 }
    .f3 { fill: #e58cc8 } .f4 { fill: #a996f5 } .f5 { fill: #9da7b3 }
  }
)";

// Bytes of the UTF-8 character that `text` begins with; 0: it begins with none that XML allows.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= ' ' && first != 0x7F ? 1 : 0;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Too long for what they say, surrogates, beyond the last one, not characters.
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
  if (first == 0xEF && second == 0xBF && byte(2) >= 0xBE) return 0;
  return size;
}

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character(text);
    switch (size == 1 ? text[0] : 'a') {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += size == 0 ? " " : text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

// About how wide a text is, in a font with wide letters.
double wide(std::string_view text, double font) {
  double sum = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    const bool narrow = std::string_view("iljtfrI.,:;'|! ()[]").find(c) != std::string_view::npos;
    const bool broad = std::string_view("mwMW%@").find(c) != std::string_view::npos;
    sum += narrow ? 0.38 : broad ? 0.98 : c >= 'A' && c <= 'Z' ? 0.72 : 0.62;
  }
  return sum * font;
}

// Cut with dots where it is wider than there is room.
std::string shortened(std::string_view text, double font, double room) {
  if (wide(text, font) <= room) return std::string(text);
  std::string kept;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    const std::string_view letter = text.substr(i, next - i);
    if (wide(kept, font) + wide(letter, font) + font > room) break;
    kept += letter;
    i = next;
  }
  return kept + "…";
}

class Panel {
 public:
  Panel(const Curve& curve, double left, double top)
      : curve_(curve),
        x_(x_axis(curve, kTicksX)),
        y_(y_axis(curve, curve.log_y ? kTicksLogY : kTicksY)),
        left_(left) {
    settle_legend();
    plot_left_ = left + kLeft;
    plot_right_ = left + kPanelWidth - kRight;
    plot_top_ =
        top + kTitle + kLegendRow * legend_rows_ + kYLabel + 8 + (has_mark() ? kMarkRow : 0);
    plot_bottom_ = top + kPanelHeight - kBottom;
    top_ = top;
  }

  std::string svg() {
    out_ = fmt::format("<g>\n<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left_,
                       top_ + 15, escaped(shortened(curve_.title, kBold, kPanelWidth)));
    legend();
    axes();
    band();
    mark_line();
    for (std::size_t i = 0; i < curve_.series.size(); ++i) line(i);
    mark_label();
    return out_ + "</g>\n";
  }

 private:
  struct Item {
    double x = 0;
    int row = 0;
    std::string label;
    std::size_t colour = 0;
    bool dashed = false, band = false;
  };

  void settle_legend();
  void legend();
  void axes();
  void band();
  void line(std::size_t index);
  void mark_line();
  void mark_label();
  bool has_mark() const { return curve_.mark && x_.shows(curve_.mark->x); }
  bool shows(double x, double y) const { return x_.shows(x) && y_.shows(y); }
  double px(double x) const { return plot_left_ + x_.at(x) * (plot_right_ - plot_left_); }
  double py(double y) const { return plot_bottom_ - y_.at(y) * (plot_bottom_ - plot_top_); }
  void text(double x, double y, const char* anchor, const char* style, std::string_view what) {
    out_ +=
        fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                    style, x, y, anchor, escaped(what));
  }
  void stroke(const char* style, double x1, double y1, double x2, double y2) {
    out_ += fmt::format(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x1,
        y1, x2, y2);
  }

  const Curve& curve_;
  Axis x_, y_;
  double left_, top_ = 0, plot_left_ = 0, plot_right_ = 0, plot_top_ = 0, plot_bottom_ = 0;
  std::vector<Item> items_;
  int legend_rows_ = 0;
  std::string out_;
};

// Places the names of lines, in as many rows as they need.
void Panel::settle_legend() {
  constexpr double kSample = 28, kBetween = 14;
  double x = 0;
  const auto add = [&](const std::string& name, std::size_t colour, bool dashed, bool band) {
    if (name.empty()) return;
    const std::string label = shortened(name, kFont, kPanelWidth - kSample - 8);
    const double width = kSample + wide(label, kFont);
    if (items_.empty()) legend_rows_ = 1;
    if (x > 0 && x + width > kPanelWidth) {
      x = 0;
      ++legend_rows_;
    }
    items_.push_back({x, legend_rows_ - 1, label, colour % kColours, dashed, band});
    x += width + kBetween;
  };
  for (std::size_t i = 0; i < curve_.series.size(); ++i) {
    add(curve_.series[i].name, i, curve_.series[i].dashed, false);
  }
  if (!curve_.band.empty()) add(curve_.band_label, 0, false, true);
}

void Panel::legend() {
  for (const Item& item : items_) {
    const double x = left_ + item.x, y = top_ + kTitle + kLegendRow * item.row + 9;
    if (item.band) {
      out_ += fmt::format(
          "<rect class=\"band f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"22\" height=\"10\"/>\n",
          item.colour, x, y - 5);
    } else {
      const std::string style =
          fmt::format("line s{}{}", item.colour, item.dashed ? " dashed" : "");
      stroke(style.c_str(), x + 1, y, x + 21, y);
    }
    text(x + 28, y + 4, "start", "soft", item.label);
  }
}

void Panel::axes() {
  text(left_, plot_top_ - 14 - (has_mark() ? kMarkRow : 0), "start", "soft",
       shortened(curve_.y_label, kFont, kPanelWidth - kRight));
  for (const Tick& tick : y_.ticks) {
    stroke("grid", plot_left_, py(tick.value), plot_right_, py(tick.value));
    text(plot_left_ - 8, py(tick.value) + 4, "end", "soft", tick.label);
  }
  double free = 0;
  for (const Tick& tick : x_.ticks) {
    stroke("axis", px(tick.value), plot_bottom_, px(tick.value), plot_bottom_ + 5);
    const double half = wide(tick.label, kFont) / 2;
    if (px(tick.value) - half < free) continue;
    text(px(tick.value), plot_bottom_ + 19, "middle", "soft", tick.label);
    free = px(tick.value) + half + 6;
  }
  stroke("axis", plot_left_, plot_bottom_, plot_right_, plot_bottom_);
  text((plot_left_ + plot_right_) / 2, plot_bottom_ + 38, "middle", "soft",
       shortened(curve_.x_label, kFont, plot_right_ - plot_left_));
}

void Panel::band() {
  std::string there, back;
  for (const Interval& interval : curve_.band) {
    if (!shows(interval.x, interval.low) || !shows(interval.x, interval.high)) continue;
    there += fmt::format("{:.1f},{:.1f} ", px(interval.x), py(interval.high));
    back = fmt::format("{:.1f},{:.1f} ", px(interval.x), py(interval.low)) + back;
  }
  if (there.empty()) return;
  out_ += fmt::format("<polygon class=\"band f0\" points=\"{}{}\"/>\n", there, back);
}

void Panel::line(std::size_t index) {
  const Series& series = curve_.series[index];
  const std::size_t colour = index % kColours;
  std::string path;
  bool joined = false;
  double last_dot = -1e9;
  std::string dots;
  for (const auto& [x, y] : series.points) {
    if (!shows(x, y)) {
      joined = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", joined ? "L" : "M", px(x), py(y));
    joined = true;
    // Points that were computed are seen where they are not too many.
    if (px(x) - last_dot < 10 && px(x) >= last_dot) continue;
    last_dot = px(x);
    dots += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"/>\n", colour,
                        px(x), py(y));
  }
  if (path.empty()) return;
  out_ += fmt::format("<path class=\"line s{}{}\" d=\"{}\"/>\n", colour,
                      series.dashed ? " dashed" : "", path);
  out_ += dots;
}

void Panel::mark_line() {
  if (has_mark()) {
    stroke("mark", px(curve_.mark->x), plot_top_ - 16, px(curve_.mark->x), plot_bottom_);
  }
}

// Above all lines, on the side where there is room.
void Panel::mark_label() {
  if (!has_mark() || curve_.mark->label.empty()) return;
  const double x = px(curve_.mark->x);
  const bool right = plot_right_ - x >= x - plot_left_;
  const double room = right ? plot_right_ - x : x - plot_left_;
  text(right ? x + 6 : x - 6, plot_top_ - 8, right ? "start" : "end", "soft",
       shortened(curve_.mark->label, kFont, room - 6));
}

}  // namespace

std::string as_svg(std::span<const Curve> curves) {
  const std::size_t across = curves.size() > 1 ? 2 : 1;
  const std::size_t down = (curves.size() + across - 1) / across;
  const double width = 2 * kMargin + static_cast<double>(across) * kPanelWidth +
                       static_cast<double>(across - 1) * kGap;
  const double height =
      2 * kMargin + static_cast<double>(down) * (kPanelHeight + kGap) - (down > 0 ? kGap : 0);
  std::string titles;
  for (const Curve& curve : curves) titles += (titles.empty() ? "" : "; ") + curve.title;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
      width, height, escaped(titles), kStyle);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto column = static_cast<double>(i % across), row = static_cast<double>(i / across);
    out += Panel(curves[i], kMargin + column * (kPanelWidth + kGap),
                 kMargin + row * (kPanelHeight + kGap))
               .svg();
  }
  return out + "</svg>\n";
}

}  // namespace meanwhile::report
