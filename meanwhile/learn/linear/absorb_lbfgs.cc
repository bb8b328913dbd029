// The rounds of L-BFGS: each evaluates value and gradient at one point, on all rows.
//
// The hinge has a corner, where L-BFGS gets stuck: it is rounded, and the rounding is made smaller
// and smaller. How much a rounding of width s hides is seen beside the smooth value in the same
// pass: the true objective minus the smooth one.
#include <fmt/format.h>

#include <cmath>

#include "meanwhile/learn/linear/chunks.h"
#include "meanwhile/learn/linear/tail.h"

namespace meanwhile::learn::linear {

namespace {

// The corner of the hinge is rounded for L-BFGS, more and more sharply.
constexpr double kFirstSmoothing = 0.05, kSharper = 0.4, kLeastSmoothing = 1e-7;
constexpr double kSmoothEnough = 0.003;  // of what smoothing hides, gained by a step: go on
constexpr double kWorthSharpening = 6;   // times tol: what a sharper corner must have gained

}  // namespace

std::vector<double> Linear::lbfgs_point() const {
  std::vector<double> x = w_;
  if (!problem_.intercept) return x;
  const std::size_t C = problem_.outputs;
  for (std::size_t i = 0; i < problem_.intercepts(); ++i) {
    x[problem_.intercepts() + i % C] += x[i] * mean(i / C);
  }
  return x;
}

void Linear::leave_lbfgs(std::span<const double> x) {
  w_.resize(x.size());
  chunks(*job_.pool, x.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    std::copy(x.begin() + static_cast<std::ptrdiff_t>(begin),
              x.begin() + static_cast<std::ptrdiff_t>(end),
              w_.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  if (!problem_.intercept) return;
  const std::size_t C = problem_.outputs;
  for (std::size_t i = 0; i < problem_.intercepts(); ++i) {
    w_[problem_.intercepts() + i % C] -= w_[i] * mean(i / C);
  }
}

// L-BFGS works on centred columns (the intercept is that of the means) and starts from the diagonal
// of the Hessian: neither needs the rows to be changed, and badly scaled columns do no harm.
void Linear::begin_lbfgs() {
  const std::size_t D = static_cast<std::size_t>(problem_.cols), C = problem_.outputs;
  if (problem_.loss.loss == Loss::kHinge && progress_.smoothing == 0) {
    progress_.smoothing = kFirstSmoothing;
  }
  problem_.loss.smoothing = progress_.smoothing;
  lbfgs_scale_.assign(problem_.size(), 1.0);
  lbfgs_l1_.clear();
  if (parameters_.l1 > 0) lbfgs_l1_.assign(problem_.size(), 0.0);
  const double curvature = problem_.loss.curvature();
  double largest = 0;
  for (std::size_t j = 0; j < D; ++j) largest = std::max(largest, second(j));
  for (std::size_t i = 0; i < problem_.intercepts(); ++i) {
    const std::size_t j = i / C;
    const double centre = problem_.intercept ? mean(j) * mean(j) : 0;
    const double variance = std::max({second(j) - centre, 1e-12 * largest, 1e-300});
    const double factor = penalty_of(j);
    lbfgs_scale_[i] = 1 / (curvature * variance + parameters_.l2 * factor * factor);
    if (parameters_.l1 > 0) lbfgs_l1_[i] = parameters_.l1 * factor;
  }
  for (std::size_t c = 0; c < C; ++c) lbfgs_scale_[problem_.intercepts() + c] = 1 / curvature;
  const auto history = static_cast<std::size_t>(parameters_.history);
  if (restored_) {
    lbfgs_.emplace(std::move(*restored_), lbfgs_scale_, lbfgs_l1_, history, *job_.pool);
    restored_.reset();
    // The first point is that of w_ as it was: there and back again would change its last bits.
    if (lbfgs_->memory().started) leave_lbfgs(lbfgs_->point());
  } else {
    lbfgs_.emplace(lbfgs_point(), lbfgs_scale_, lbfgs_l1_, history);
  }
}

void Linear::absorb_lbfgs(std::span<const double> total, const Tail& tail, Outcome& outcome) {
  const std::size_t C = problem_.outputs, features = problem_.intercepts();
  const std::size_t P = problem_.size();
  std::vector<double> g(P);
  for (std::size_t i = features; i < P; ++i) g[i] = total[i] / tail.weight;
  const double squares = sum(*job_.pool, features, [&](std::size_t i) {
    const double factor = penalty_of(i / C), l2 = parameters_.l2 * factor * factor;
    g[i] = total[i] / tail.weight + l2 * w_[i];
    if (problem_.intercept) g[i] -= mean(i / C) * g[features + i % C];
    return l2 * w_[i] * w_[i];
  });
  const double smooth = tail.loss / tail.weight + 0.5 * squares;
  const double before = lbfgs_->value();
  const bool first = !lbfgs_->memory().started;
  const Lbfgs::Verdict verdict = lbfgs_->tell(smooth, std::move(g), *job_.pool);
  if (progress_.smoothing > 0) outcome.record["smoothing"] = progress_.smoothing;
  outcome.record["step"] = verdict == Lbfgs::Verdict::kBetter    ? "better"
                           : verdict == Lbfgs::Verdict::kShorter ? "shorter"
                                                                 : "stuck";
  const bool stuck = verdict == Lbfgs::Verdict::kStuck;
  bool settled = stuck;
  std::string because = stuck ? "converged: no step lowers the objective" : "";
  if (verdict == Lbfgs::Verdict::kBetter && !still_falls(lbfgs_->value())) {
    settled = true;
    because = fmt::format("converged: five rounds lowered the objective by less than tol={}",
                          parameters_.tol);
  }
  if (progress_.smoothing > 0 && !first && verdict != Lbfgs::Verdict::kShorter) {
    // What smoothing hides bounds how far this point is from the optimum of the corner itself.
    const double hidden = outcome.objective - lbfgs_->value();
    const bool enough = hidden <= parameters_.tol * std::abs(outcome.objective) ||
                        progress_.smoothing <= kLeastSmoothing;
    if ((settled || before - lbfgs_->value() < kSmoothEnough * hidden) && !enough) {
      settled = false;
      const double gained = progress_.stage_end - outcome.objective;
      if (progress_.stage_end >= 0 && !stuck &&
          std::abs(gained) < kWorthSharpening * parameters_.tol * std::abs(outcome.objective)) {
        settled = true;
        because =
            fmt::format("converged: a sharper corner lowered the objective by {:.2g}", gained);
      } else {
        progress_.stage_end = outcome.objective;
        leave_lbfgs(lbfgs_->memory().x);
        progress_.smoothing *= kSharper;
        problem_.loss.smoothing = progress_.smoothing;
        progress_.recent.clear();
        lbfgs_->begin_again();
      }
    }
  }
  if (settled) return end(outcome, Ending::kConverged, because);
  leave_lbfgs(lbfgs_->point());
}

}  // namespace meanwhile::learn::linear
