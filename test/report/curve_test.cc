#include "meanwhile/report/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <pugixml.hpp>
#include <sstream>

namespace meanwhile::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Curve speedup() {
  Curve curve;
  curve.title = "speedup";
  curve.x_label = "workers";
  curve.y_label = "times as fast";
  curve.series = {{"plan", {{1, 1}, {2, 1.9}, {4, 3.5}, {8, 6}, {16, 9}, {32, 8}}},
                  {"ideal", {{1, 1}, {32, 32}}, true}};
  curve.mark = Mark{16, "best: 16"};
  return curve;
}

// Curves that are hard to draw.
std::vector<Curve> odd_curves() {
  std::vector<Curve> curves(8);
  curves[1].series = {{"one point", {{3, 4}}}};
  curves[2].series = {{"all equal", {{1, 7}, {2, 7}, {3, 7}}}};
  curves[3].series = {{"zero, negative", {{0, 1}, {-1, -2}, {10, 0}, {100, 5}, {1000, 50}}}};
  curves[3].log_x = curves[3].log_y = true;
  curves[4].series = {{"none is finite", {{kNan, 1}, {1, kNan}, {kInfinity, -kInfinity}}}};
  curves[4].band = {{1, kNan, 2}, {2, 1, kInfinity}};
  curves[4].mark = Mark{kNan, "nowhere"};
  curves[5] = speedup();
  curves[5].mark = Mark{-5, "beyond"};
  curves[5].log_x = true;
  curves[6].title = curves[6].x_label = curves[6].y_label = std::string(300, 'W');
  curves[6].series = {{std::string(300, 'n'), {{1, -1e12}, {1e12, 1e-12}}}};
  curves[6].mark = Mark{1e12, std::string(300, 'm')};
  for (int i = 0; i < 20; ++i) curves[7].series.push_back({"series", {{5, i}, {1, 2.0 * i}}});
  curves[7].band = {{5, 1, 30}, {1, 2, 20}};
  return curves;
}

TEST(CurveAsText, HasTitleAxesLegendAndMark) {
  const std::string text = as_text(speedup(), 60, 12);
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_EQ(lines.front(), "speedup");
  EXPECT_EQ(lines[1], "times as fast");
  EXPECT_THAT(text, HasSubstr("best: 16"));
  EXPECT_THAT(text, HasSubstr("● plan"));
  EXPECT_THAT(text, HasSubstr("○ ideal (dashed)"));
  EXPECT_THAT(text, HasSubstr("workers"));
  EXPECT_EQ(lines.size(), 3U + 12 + 3 + 1);
}

TEST(CurveAsText, IsAsciiWhenAsked) {
  Curve curve = speedup();
  curve.band = {{1, 0.5, 1.5}, {32, 4, 12}};
  curve.band_label = "may be";
  EXPECT_TRUE(is_ascii(as_text(curve, 60, 12, false)));
  EXPECT_FALSE(is_ascii(as_text(curve, 60, 12)));
  EXPECT_THAT(as_text(curve, 60, 12, false), HasSubstr("may be"));
}

// A line that rises has its left end at the bottom and its right end at the top.
TEST(CurveAsText, IsTheRightWayUp) {
  Curve curve;
  curve.series = {{"", {{0, 0}, {10, 10}}}};
  const std::vector<std::string> lines = lines_of(as_text(curve, 40, 8, false));
  EXPECT_EQ(lines[0].back(), '*');
  EXPECT_EQ(lines[0].size(), 40U);
  EXPECT_EQ(lines[7].substr(0, 5), " 0 +*");
}

TEST(CurveAsText, NoLineIsTooWide) {
  for (const bool unicode : {false, true}) {
    for (const Curve& curve : odd_curves()) {
      for (const int width : {kLeastWidth, 25, 31, 80, 200}) {
        for (const std::string& line : lines_of(as_text(curve, width, 9, unicode))) {
          EXPECT_LE(columns(line), static_cast<std::size_t>(width)) << line;
        }
      }
    }
  }
}

TEST(CurveAsText, SizesTooSmallAreTakenForTheLeast) {
  for (const Curve& curve : odd_curves()) {
    EXPECT_EQ(as_text(curve, -3, -1), as_text(curve, kLeastWidth, kLeastHeight));
    EXPECT_EQ(as_text(curve, 0, 0), as_text(curve, kLeastWidth, kLeastHeight));
  }
}

TEST(CurveAsText, ALineHasAGapWhereAPointCannotBeDrawn) {
  Curve whole, broken;
  whole.series = {{"", {{0, 1}, {5, 1}, {10, 1}}}};
  broken.series = {{"", {{0, 1}, {5, kNan}, {10, 1}}}};
  EXPECT_THAT(as_text(whole, 40, 5, false), HasSubstr("...."));
  EXPECT_THAT(as_text(broken, 40, 5, false), Not(HasSubstr("..")));
}

TEST(CurveAsText, LineBreaksInNamesDoNotBreakLines) {
  Curve curve = speedup();
  const std::size_t lines = lines_of(as_text(curve, 60, 8)).size();
  curve.title = "two\nlines\tand a tab";
  EXPECT_EQ(lines_of(as_text(curve, 60, 8)).size(), lines);
}

pugi::xml_document parsed(const std::string& svg) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_string(svg.c_str());
  EXPECT_TRUE(result) << result.description() << " at "
                      << svg.substr(static_cast<std::size_t>(result.offset), 80);
  return document;
}

TEST(CurveAsSvg, IsWellFormedWhateverIsDrawn) {
  const std::vector<Curve> curves = odd_curves();
  for (std::size_t n = 0; n <= curves.size(); ++n) {
    const std::string svg = as_svg(std::span(curves).first(n));
    const pugi::xml_document document = parsed(svg);
    EXPECT_EQ(document.child("svg").select_nodes("g").size(), n);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(CurveAsSvg, TextIsEscaped) {
  Curve curve = speedup();
  const std::string name = "a<b> & \"c\" </text><script>alert(1)</script>";
  curve.title = curve.series[0].name = curve.mark->label = name;
  const std::string svg = as_svg({&curve, 1});
  const pugi::xml_document document = parsed(svg);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_EQ(document.select_nodes("//script").size(), 0U);
  EXPECT_EQ(std::string(document.select_node("//*[@class='title']").node().text().get()), name);
}

// XML has no place for these, however they are written.
TEST(CurveAsSvg, ControlCharactersAndBrokenUtf8AreBlanked) {
  Curve curve = speedup();
  curve.title =
      "bell\a nul" + std::string(1, '\0') + " cut\xC3 lone\x80 long\xC0\xAF \xED\xA0\x80 ü";
  const std::string svg = as_svg({&curve, 1});
  const pugi::xml_document document = parsed(svg);
  EXPECT_EQ(std::string(document.select_node("//*[@class='title']").node().text().get()),
            "bell  nul  cut  lone  long       ü");
}

TEST(CurveAsSvg, NeedsNothingElse) {
  const Curve curve = speedup();
  const std::string svg = as_svg({&curve, 1});
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, Not(HasSubstr("url(")));
  EXPECT_THAT(svg, Not(HasSubstr("@import")));
}

TEST(CurveAsSvg, StaysWithinItsFrame) {
  const std::vector<Curve> curves = odd_curves();
  const pugi::xml_document document = parsed(as_svg(curves));
  const pugi::xml_node svg = document.child("svg");
  const double width = svg.attribute("width").as_double();
  const double height = svg.attribute("height").as_double();
  for (const pugi::xpath_node& found : document.select_nodes("//*[@x or @cx]")) {
    const pugi::xml_node node = found.node();
    const char* prefix = node.attribute("x") ? "" : "c";
    const double x = node.attribute((std::string(prefix) + "x").c_str()).as_double();
    const double y = node.attribute((std::string(prefix) + "y").c_str()).as_double();
    EXPECT_GE(x, 0);
    EXPECT_LE(x, width);
    EXPECT_GE(y, 0);
    EXPECT_LE(y, height);
  }
}

}  // namespace
}  // namespace meanwhile::report
