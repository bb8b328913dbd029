// Which number of workers to take.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/plan/predict.h"

namespace meanwhile::plan {

// The best of several exchanges for each number of workers. `fixed`: take that of the setting.
std::vector<Point> curve(const Machine& machine, const Job& job, Setting setting,
                         std::span<const int> workers, bool fixed_exchange = true);

struct Wish {
  std::optional<double> deadline_s;  // seeding and scoring included
  std::optional<double> budget;
};

struct Choice {
  Point answer;     // what was wished for, or the nearest to it
  bool met = true;  // the wish
  std::string why;  // what the time is spent on there, and what stands in the way of less
  Point fastest;    // the fewest workers of those as fast
  Point cheapest;   // the fastest of those as cheap
  Point worth;      // the fewest workers within a tenth of the fastest
  std::optional<Point> in_time, within_budget;  // cheapest in time, fastest within budget
};

// Time of a point from the start to the model.
inline double total_seconds(const Point& point) { return point.seconds + point.seed + point.score; }

// REQUIRES: at least one point.
Choice choose(std::span<const Point> points, const Wish& wish);

// The best number of workers for each of several sizes, and how both grow with the size:
// workers ~ rows^a, seconds ~ rows^b.
struct ScaleUp {
  struct Size {
    std::int64_t rows = 0;
    Point best;
  };
  std::vector<Size> sizes;
  double workers_exponent = 0, seconds_exponent = 0;
};
ScaleUp scale_up(const Machine& machine, const Job& job, const Setting& setting,
                 std::span<const int> workers, std::span<const std::int64_t> rows);

// As many rows for each worker as the job has for one: the efficiency is that of weak scaling.
std::vector<Point> weak_curve(const Machine& machine, const Job& job, const Setting& setting,
                              std::span<const int> workers);

// The same job on other rows: what a round costs grows with them, and its update where it
// answers for each row.
Job with_rows(Job job, std::int64_t rows);

// The slope of log y over log x by least squares.
double exponent(std::span<const double> x, std::span<const double> y);

}  // namespace meanwhile::plan
