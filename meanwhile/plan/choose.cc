#include "meanwhile/plan/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"

namespace meanwhile::plan {

namespace {

bool has_mirrors(const Job& job) {
  return std::any_of(job.course.begin(), job.course.end(), [](const learn::Stretch& stretch) {
    return stretch.round.mirrored_bytes > 0;
  });
}

}  // namespace

std::vector<Point> curve(const Machine& machine, const Job& job, Setting setting,
                         std::span<const int> workers, bool fixed_exchange) {
  std::vector<Point> points;
  for (const int w : workers) {
    Point point = predict(machine, job, setting, w);
    if (!fixed_exchange && setting.medium == Medium::kNetwork) {
      for (const job::ExchangeName& known : job::kExchangeNames) {
        if (known.exchange == job::Exchange::kMirrors && !has_mirrors(job)) continue;
        Setting other = setting;
        other.exchange = known.exchange;
        const Point alternative = predict(machine, job, other, w);
        if (alternative.seconds < point.seconds) point = alternative;
      }
    }
    points.push_back(point);
  }
  return points;
}

namespace {

constexpr double kWorth = 1.1;  // times the shortest time

std::string shown(double seconds) {
  return seconds < 120 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.3g} min", seconds / 60);
}

std::string reason(const Point& best, std::span<const Point> points) {
  struct Part {
    const char* name;
    double seconds;
  };
  std::vector<Part> parts = {{"loading", best.load},
                             {"work", best.work},
                             {"exchange", best.exchange},
                             {"absorbing", best.absorb}};
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
  const double all = std::max(best.seconds, 1e-300);
  std::string text = fmt::format("{:.0f} % {}", 100 * parts[0].seconds / all, parts[0].name);
  if (parts[1].seconds > 0.005 * all) {
    text += fmt::format(", {:.0f} % {}", 100 * parts[1].seconds / all, parts[1].name);
  }
  // The gain and loss of the next larger number.
  const Point* next = nullptr;
  for (const Point& point : points) {
    if (point.workers > best.workers && (next == nullptr || point.workers < next->workers)) {
      next = &point;
    }
  }
  if (next == nullptr) {
    return text + (points.size() > 1 ? "; more workers were not asked about" : "");
  }
  const double gain = best.load + best.work - next->load - next->work;
  const double loss = next->exchange + next->absorb - best.exchange - best.absorb;
  if (next->seconds >= best.seconds && loss > 0) {
    text += fmt::format("; with {} workers, {} less of work would cost {} more of exchange",
                        next->workers, shown(std::max(gain, 0.0)), shown(loss));
  } else if (next->seconds < best.seconds) {
    text += fmt::format("; with {} workers it would take {} less", next->workers,
                        shown(best.seconds - next->seconds));
  }
  return text;
}

}  // namespace

Choice choose(std::span<const Point> points, const Wish& wish) {
  Choice choice;
  const auto best = [&](const auto& before, const auto& allowed) -> std::optional<Point> {
    std::optional<Point> found;
    for (const Point& point : points) {
      if (allowed(point) && (!found || before(point, *found))) found = point;
    }
    return found;
  };
  const auto any = [](const Point&) { return true; };
  const auto faster = [](const Point& a, const Point& b) {
    const double ta = total_seconds(a), tb = total_seconds(b);
    return ta != tb ? ta < tb : a.processes < b.processes;
  };
  const auto cheaper = [&](const Point& a, const Point& b) {
    return a.total_price != b.total_price ? a.total_price < b.total_price : faster(a, b);
  };
  const auto in_time = [&](const Point& p) {
    return !wish.deadline_s || total_seconds(p) <= *wish.deadline_s;
  };
  const auto affordable = [&](const Point& p) {
    return !wish.budget || p.total_price <= *wish.budget;
  };
  choice.fastest = *best(faster, any);
  choice.cheapest = *best(cheaper, any);
  const double enough = kWorth * total_seconds(choice.fastest);
  choice.worth = *best([](const Point& a, const Point& b) { return a.processes < b.processes; },
                       [&](const Point& p) { return total_seconds(p) <= enough; });
  if (wish.deadline_s) choice.in_time = best(cheaper, in_time);
  if (wish.budget) choice.within_budget = best(faster, affordable);
  const auto both = [&](const Point& p) { return in_time(p) && affordable(p); };
  std::optional<Point> answer = wish.deadline_s ? best(cheaper, both) : best(faster, both);
  choice.met = answer.has_value();
  // The nearest: in time if that can be had, or else for the money, or else as soon as can be.
  if (!answer) answer = choice.in_time;
  if (!answer) answer = choice.within_budget;
  if (!answer && wish.deadline_s) answer = choice.fastest;
  if (!answer) answer = choice.cheapest;
  choice.answer = *answer;
  choice.why = reason(choice.answer, points);
  return choice;
}

Job with_rows(Job job, std::int64_t rows) {
  constexpr double kCountable = 9e18;
  if (rows < 1 || static_cast<double>(rows) * static_cast<double>(job.shape.cols) > kCountable) {
    throw base::Error(base::ErrorKind::kInput,
                      "rows that grow with the workers become more values than can be counted: ask "
                      "for fewer rows or workers");
  }
  const double factor = static_cast<double>(rows) / static_cast<double>(job.shape.rows);
  job.shape.stored =
      static_cast<std::int64_t>(std::llround(static_cast<double>(job.shape.stored) * factor));
  job.shape.rows = rows;
  job.shape.total *= factor;
  job.load_bytes *= factor;
  for (learn::Stretch& stretch : job.course) {
    stretch.round.flops *= factor;
    stretch.round.bytes_read *= factor;
    if (!stretch.round.update_grows) continue;
    stretch.round.update_bytes *= factor;
    stretch.round.absorb_bytes *= factor;
    stretch.round.mirrored_bytes *= factor;
  }
  return job;
}

double exponent(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double lx = std::log(x[i]), ly = std::log(y[i]);
    sx += lx;
    sy += ly;
    sxx += lx * lx;
    sxy += lx * ly;
  }
  const double spread = n * sxx - sx * sx;
  return spread > 0 ? (n * sxy - sx * sy) / spread : 0;
}

ScaleUp scale_up(const Machine& machine, const Job& job, const Setting& setting,
                 std::span<const int> workers, std::span<const std::int64_t> rows) {
  ScaleUp result;
  std::vector<double> sizes, best_workers, seconds;
  for (const std::int64_t n : rows) {
    const std::vector<Point> points =
        curve(machine, with_rows(job, n), setting, workers, setting.medium != Medium::kNetwork);
    result.sizes.push_back({n, choose(points, {}).fastest});
    const Point& best = result.sizes.back().best;
    sizes.push_back(static_cast<double>(n));
    best_workers.push_back(best.workers);
    seconds.push_back(best.seconds);
  }
  result.workers_exponent = exponent(sizes, best_workers);
  result.seconds_exponent = exponent(sizes, seconds);
  return result;
}

std::vector<Point> weak_curve(const Machine& machine, const Job& job, const Setting& setting,
                              std::span<const int> workers) {
  std::vector<Point> points;
  for (const int w : workers) {
    const Job larger = with_rows(job, job.shape.rows * w);
    const std::vector<int> one = {w};
    points.push_back(curve(machine, larger, setting, one, setting.medium != Medium::kNetwork)[0]);
  }
  return points;
}

}  // namespace meanwhile::plan
