// A grid over the ranges, then the simplex of Nelder and Mead ("A simplex method for function
// minimization", 1965) from its best points, all in logarithms. The times have kinks where one
// limit takes over from another, so derivatives are no help; and a constant that changes nothing
// leaves the simplex flat in one direction, which it bears.
#include "test/plan/papers/fit.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "meanwhile/base/error.h"

namespace meanwhile::plan {

using base::Error;
using base::ErrorKind;

namespace {

using Vector = std::vector<double>;
using Function = std::function<double(const Vector&)>;

struct Corner {
  Vector x;
  double value;
};

bool less(const Corner& a, const Corner& b) { return a.value < b.value; }

// a + t (b - a)
Vector interpolated(const Vector& a, const Vector& b, double t) {
  Vector x(a.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = a[i] + t * (b[i] - a[i]);
  return x;
}

Corner nelder_mead(const Function& f, const Vector& start, double step) {
  constexpr int kTurns = 400;
  constexpr double kSmall = 1e-7;  // of a logarithm: far below any use
  const std::size_t n = start.size();
  std::vector<Corner> corners = {{start, f(start)}};
  for (std::size_t i = 0; i < n; ++i) {
    Vector x = start;
    x[i] += step;
    corners.push_back({x, f(x)});
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    std::stable_sort(corners.begin(), corners.end(), less);
    double spread = 0;
    for (std::size_t i = 0; i < n; ++i) {
      spread = std::max(spread, std::abs(corners[n].x[i] - corners[0].x[i]));
    }
    if (spread < kSmall) break;
    Vector centre(n, 0.0);
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t i = 0; i < n; ++i) centre[i] += corners[c].x[i] / static_cast<double>(n);
    }
    Corner& worst = corners[n];
    const auto at = [&](double t) {
      const Vector x = interpolated(centre, worst.x, t);
      return Corner{x, f(x)};
    };
    Corner mirrored = at(-1);
    if (mirrored.value < corners[0].value) {
      Corner further = at(-2);
      worst = further.value < mirrored.value ? std::move(further) : std::move(mirrored);
    } else if (mirrored.value < corners[n - 1].value) {
      worst = std::move(mirrored);
    } else {
      Corner nearer = mirrored.value < worst.value ? at(-0.5) : at(0.5);
      if (nearer.value < std::min(mirrored.value, worst.value)) {
        worst = std::move(nearer);
      } else {
        for (std::size_t c = 1; c <= n; ++c) {
          corners[c].x = interpolated(corners[0].x, corners[c].x, 0.5);
          corners[c].value = f(corners[c].x);
        }
      }
    }
  }
  return *std::min_element(corners.begin(), corners.end(), less);
}

// The `most` best points of a grid with `steps` + 1 places a range, ends included; the best first.
std::vector<Corner> best_of_grid(const Function& f, const Vector& from, const Vector& to, int steps,
                                 std::size_t most) {
  std::vector<int> at(from.size(), 0);
  std::vector<Corner> corners;
  for (;;) {
    Vector x(from.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] = from[j] + (to[j] - from[j]) * at[j] / steps;
    }
    const double value = f(x);
    corners.push_back({std::move(x), value});
    std::size_t i = 0;
    while (i < at.size() && at[i] == steps) at[i++] = 0;
    if (i == at.size()) break;
    ++at[i];
  }
  std::stable_sort(corners.begin(), corners.end(), less);
  corners.resize(std::min(corners.size(), most));
  return corners;
}

// A simplex that lies along a kink gets flat too early: it is spread again while that helps.
Corner descend(const Function& f, Corner best) {
  constexpr int kAgain = 20;
  for (int again = 0; again < kAgain; ++again) {
    const double before = best.value;
    for (const double step : {0.5, -0.5, 0.1, -0.1}) {
      Corner found = nelder_mead(f, best.x, step);
      if (found.value < best.value) best = std::move(found);
    }
    if (best.value > 0.999 * before) break;
  }
  return best;
}

void check(const Machine& machine, std::span<const TimedRun> runs,
           std::span<const Unknown> unknowns) {
  if (!machine.storage) {
    throw Error(ErrorKind::kInput, "machine '{}' says nothing of storage", machine.name);
  }
  if (runs.empty() || runs.size() < unknowns.size()) {
    throw Error(ErrorKind::kInput, "{} runs for {} unknown constants: expected at least as many",
                runs.size(), unknowns.size());
  }
  for (const TimedRun& run : runs) {
    if (run.workers >= 1 && run.seconds > 0 && std::isfinite(run.seconds)) continue;
    throw Error(ErrorKind::kInput, "a run of {} s on {} workers: expected more than none of both",
                run.seconds, run.workers);
  }
  for (const Unknown& unknown : unknowns) {
    if (unknown.from > 0 && unknown.to > unknown.from && std::isfinite(unknown.to)) continue;
    throw Error(ErrorKind::kInput, "a constant from {} to {}: expected a range above 0",
                unknown.from, unknown.to);
  }
}

}  // namespace

Fit fit_storage(const Machine& machine, const Job& job, const Setting& setting,
                std::span<const TimedRun> runs, std::span<const Unknown> unknowns) {
  check(machine, runs, unknowns);
  Vector from, to;
  for (const Unknown& unknown : unknowns) {
    from.push_back(std::log(unknown.from));
    to.push_back(std::log(unknown.to));
  }
  Fit fit{machine, 0};
  const auto set = [&](const Vector& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      (*fit.machine.storage).*(unknowns[i].field) = std::exp(std::clamp(x[i], from[i], to[i]));
    }
  };
  const Function squares = [&](const Vector& x) {
    set(x);
    double sum = 0;
    for (const TimedRun& run : runs) {
      const double off =
          std::log(predict(fit.machine, job, setting, run.workers).seconds / run.seconds);
      sum += off * off;
    }
    return sum;
  };
  constexpr int kSteps = 8;
  constexpr std::size_t kStarts = 10;
  const std::vector<Corner> starts = best_of_grid(squares, from, to, kSteps, kStarts);
  Corner best = starts.front();
  for (const Corner& start : starts) best = std::min(best, descend(squares, start), less);
  set(best.x);
  fit.error = std::sqrt(best.value / static_cast<double>(runs.size()));
  return fit;
}

double error_percent(const Machine& machine, const Job& job, const Setting& setting,
                     std::span<const TimedRun> runs) {
  double sum = 0;
  for (const TimedRun& run : runs) {
    sum += std::abs(predict(machine, job, setting, run.workers).seconds / run.seconds - 1);
  }
  return 100 * sum / static_cast<double>(runs.size());
}

}  // namespace meanwhile::plan
