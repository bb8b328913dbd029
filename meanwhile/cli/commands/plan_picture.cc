#include "meanwhile/cli/commands/plan_picture.h"

#include <fmt/format.h>

#include <functional>

#include "meanwhile/base/counted.h"
#include "meanwhile/report/curve.h"

namespace meanwhile::cli {

namespace {

using Value = std::function<double(const plan::Point&)>;

report::Curve curve_of(std::span<const plan::Point> points, const plan::Choice& choice,
                       const char* title, const char* y_label, const Value& value) {
  report::Curve curve;
  curve.title = title;
  curve.x_label = "workers";
  curve.y_label = y_label;
  report::Series series{"predicted", {}};
  for (const plan::Point& point : points) series.points.emplace_back(point.workers, value(point));
  curve.series.push_back(std::move(series));
  curve.mark = report::Mark{static_cast<double>(choice.answer.workers),
                            base::counted(choice.answer.workers, "worker")};
  return curve;
}

double speedup(const plan::Point& point) { return point.speedup; }
double seconds(const plan::Point& point) { return plan::total_seconds(point); }

}  // namespace

std::string plan_text(std::span<const plan::Point> points, const plan::Choice& choice, int width) {
  if (points.size() < 3) return "";
  constexpr int kHeight = 10;
  return report::as_text(curve_of(points, choice, "speedup", "", speedup), width, kHeight);
}

std::string plan_svg(std::span<const plan::Point> points, const plan::Choice& choice, double error,
                     const PlanFlags& flags) {
  std::vector<report::Curve> curves = {
      curve_of(points, choice, "speedup", "times one worker", speedup),
      curve_of(points, choice, "efficiency", "speedup for each process",
               [](const plan::Point& point) { return point.efficiency; }),
      curve_of(points, choice, "time", "seconds", seconds),
      curve_of(points, choice, "price", "", [](const plan::Point& p) { return p.total_price; })};
  curves[0].title = fmt::format("speedup of {} on {}", flags.entry().name, flags.machine().name);
  report::Curve& time = curves[2];
  time.log_y = true;
  time.log_x = points.size() > 2 && points.back().workers > 8 * points.front().workers;
  for (const plan::Point& point : points) {
    const double t = seconds(point);
    time.band.push_back({static_cast<double>(point.workers), t / (1 + error), t * (1 + error)});
  }
  time.band_label = fmt::format("within {:.0f} %", 100 * error);
  // The parts, to see which of them stands in the way.
  report::Series work{"work", {}, true}, exchange{"exchange", {}, true};
  for (const plan::Point& point : points) {
    work.points.emplace_back(point.workers, point.work);
    exchange.points.emplace_back(point.workers, point.exchange);
  }
  time.series.push_back(std::move(work));
  time.series.push_back(std::move(exchange));
  return report::as_svg(curves);
}

std::string scale_up_svg(const plan::ScaleUp& found) {
  std::vector<report::Curve> curves(2);
  curves[0].title = fmt::format("best workers, about rows^{:.2f}", found.workers_exponent);
  curves[1].title = fmt::format("their seconds, about rows^{:.2f}", found.seconds_exponent);
  report::Series workers{"predicted", {}}, time{"predicted", {}};
  for (const auto& [rows, best] : found.sizes) {
    workers.points.emplace_back(rows, best.workers);
    time.points.emplace_back(rows, best.seconds);
  }
  curves[0].series.push_back(std::move(workers));
  curves[1].series.push_back(std::move(time));
  for (report::Curve& curve : curves) {
    curve.x_label = "rows";
    curve.log_x = curve.log_y = true;
  }
  return report::as_svg(curves);
}

}  // namespace meanwhile::cli
