// L-BFGS: each round evaluates value and gradient at one point, on all rows.
//
// The hinge has a corner, where L-BFGS gets stuck: it is rounded, and the rounding is made smaller
// and smaller. How much a rounding of width s hides is seen beside the smooth value in the same
// pass: the true objective minus the smooth one.
//
// L-BFGS works on centred columns (the intercept is that of the means) and starts from the diagonal
// of the Hessian: neither needs the rows to be changed, and badly scaled columns do no harm.
//
// Update: gradient, by column | of intercepts, tail.
#include <fmt/format.h>

#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/chunks.h"
#include "meanwhile/learn/linear/lbfgs.h"
#include "meanwhile/learn/linear/stages.h"
#include "meanwhile/learn/linear/state_tensors.h"

namespace meanwhile::learn::linear {

namespace {

using base::Error;
using base::ErrorKind;

// The corner of the hinge is rounded, more and more sharply.
constexpr double kFirstSmoothing = 0.05, kSharper = 0.4, kLeastSmoothing = 1e-7;
constexpr double kSmoothEnough = 0.003;  // of what smoothing hides, gained by a step: go on
constexpr double kWorthSharpening = 6;   // times tol: what a sharper corner must have gained
constexpr std::size_t kMostPairs = 100;
// Softmax on sparse rows, whose many columns fit most rows well: p (1 - p) is then so many times
// less than its bound of 1/4, and penalties are so many times more beside it. With the bound the
// steps of frequent columns are far too short: 20newsgroups needs 381 rounds, with 250 it needs
// 145. 2500 is better there, but worse on its tf-idf.
constexpr double kBelowBound = 250;

const char* name_of(Lbfgs::Verdict verdict) {
  switch (verdict) {
    case Lbfgs::Verdict::kBetter:
      return "better";
    case Lbfgs::Verdict::kShorter:
      return "shorter";
    case Lbfgs::Verdict::kStuck:
      return "stuck";
  }
  return "";
}

class LbfgsStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kLbfgs; }

  void begin() override;

  exchange::UpdateShape update_shape() const override {
    const std::size_t C = fit_.problem.outputs;
    return {fit_.columns_block(C, 1), rest_block(C)};
  }

  void work(int shard, exchange::Update& update) const override {
    PassOptions options;
    options.seed = fit_.job.seed;
    options.round = static_cast<std::uint32_t>(fit_.progress.round);
    options.narrow = narrow_;
    work_gradient(fit_, shard, options, update);
  }

  StageName absorb(const exchange::Update& total, Outcome& outcome) override {
    const Tail tail = Tail::of(total);
    verdict_.reset();
    open_round(fit_, tail, outcome);
    if (fit_.progress.ended) return StageName::kLbfgs;
    move(total, tail, outcome);
    fit_.progress.last = outcome.objective;
    narrow();
    return StageName::kLbfgs;
  }

  StageName finish(Outcome& outcome) override;

  void save(State& state) const override;
  void load(const data::SafetensorsFile& file, const Json& progress) override;

 private:
  std::vector<double> centred(std::vector<double> w) const;  // from weights to a point
  void take_point(std::span<const double> x);                // sets the model
  void narrow();
  double largest_slope(std::span<const double> rows, double weight,
                       std::span<const double> gradient) const;
  Lbfgs::Verdict tell(const exchange::Update& total, const Tail& tail);
  void move(const exchange::Update& total, const Tail& tail, Outcome& outcome);
  std::string sharpen(double before, bool stuck, std::string because, const Outcome& outcome);

  std::vector<double> scale_, l1_;  // of lbfgs_
  std::optional<Lbfgs> lbfgs_;
  std::optional<Lbfgs::Memory> restored_;  // until begin()
  std::optional<Lbfgs::Verdict> verdict_;  // of the last round
  std::vector<float> narrow_;              // the model, for passes that go by it
  std::vector<double> scratch_;
  double largest_slope_ = 0;  // at the point of the last round; where slope_tol asks for it
};

std::vector<double> LbfgsStage::centred(std::vector<double> x) const {
  if (!fit_.problem.intercept) return x;
  const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
  for (std::size_t i = 0; i < features; ++i) x[features + i % C] += x[i] * fit_.moments.mean(i / C);
  return x;
}

void LbfgsStage::take_point(std::span<const double> x) {
  std::vector<double>& w = fit_.w;
  w.resize(x.size());
  chunks(*fit_.job.pool, x.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    std::copy(x.begin() + static_cast<std::ptrdiff_t>(begin),
              x.begin() + static_cast<std::ptrdiff_t>(end),
              w.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  if (!fit_.problem.intercept) return;
  const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
  for (std::size_t i = 0; i < features; ++i) w[features + i % C] -= w[i] * fit_.moments.mean(i / C);
}

void LbfgsStage::narrow() {
  narrow_.clear();
  if (!goes_narrow(fit_.problem, fit_.job.part->data.x)) return;
  narrow_.resize(fit_.w.size());
  chunks(*fit_.job.pool, fit_.w.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) narrow_[i] = static_cast<float>(fit_.w[i]);
  });
}

void LbfgsStage::begin() {
  const Problem& problem = fit_.problem;
  const Parameters& parameters = fit_.parameters;
  const std::size_t D = static_cast<std::size_t>(problem.cols), C = problem.outputs;
  fit_.newton = true;
  double& smoothing = fit_.progress.smoothing;
  if (problem.loss.loss == Loss::kHinge && smoothing == 0) smoothing = kFirstSmoothing;
  fit_.problem.loss.smoothing = smoothing;
  scale_.assign(problem.size(), 1.0);
  l1_.clear();
  if (parameters.l1 > 0) l1_.assign(problem.size(), 0.0);
  const double curvature = problem.loss.curvature();
  const double below_bound = problem.softmax && !fit_.dense ? kBelowBound : 1;
  const Moments& moments = fit_.moments;
  double largest = 0;
  for (std::size_t j = 0; j < D; ++j) largest = std::max(largest, moments.second(j));
  for (std::size_t i = 0; i < problem.intercepts(); ++i) {
    const std::size_t j = i / C;
    const double centre = problem.intercept ? moments.mean(j) * moments.mean(j) : 0;
    const double variance = std::max({moments.second(j) - centre, 1e-12 * largest, 1e-300});
    const double factor = fit_.penalty_of(j);
    scale_[i] = 1 / (curvature * variance + below_bound * parameters.l2 * factor * factor);
    if (parameters.l1 > 0) l1_[i] = parameters.l1 * factor;
  }
  for (std::size_t c = 0; c < C; ++c) {
    scale_[problem.intercepts() + c] = 1 / (curvature + below_bound * parameters.l2_intercept);
  }
  const auto history = static_cast<std::size_t>(parameters.history);
  if (restored_) {
    lbfgs_.emplace(std::move(*restored_), scale_, l1_, history, *fit_.job.pool);
    restored_.reset();
    // The first point is that of the model as it was: there and back again would change its last
    // bits.
    if (lbfgs_->memory().started) take_point(lbfgs_->point());
  } else {
    lbfgs_.emplace(centred(fit_.w), scale_, l1_, history);
    // A step between optima says nothing of where SGD has come to.
    if (!fit_.heading.empty() && fit_.progress.seen == 0) lbfgs_->guess(centred(fit_.heading));
  }
  fit_.heading.clear();
  narrow();
}

// Along the weights of the model itself, and how far it could fall where l1 makes a corner.
// `rows`: gradient of the losses by weight; the intercepts' end `gradient` as they are.
double LbfgsStage::largest_slope(std::span<const double> rows, double weight,
                                 std::span<const double> gradient) const {
  const std::size_t C = fit_.problem.outputs, features = fit_.problem.intercepts();
  double largest = 0;
  for (std::size_t i = 0; i < features; ++i) {
    const double factor = fit_.penalty_of(i / C), w = fit_.w[i], l1 = fit_.parameters.l1 * factor;
    const double slope = rows[i] / weight + fit_.parameters.l2 * factor * factor * w;
    const double left = w > 0   ? std::abs(slope + l1)
                        : w < 0 ? std::abs(slope - l1)
                                : std::max(0.0, std::abs(slope) - l1);
    largest = std::max(largest, left);
  }
  for (std::size_t c = 0; c < C; ++c) largest = std::max(largest, std::abs(gradient[features + c]));
  return largest;
}

Lbfgs::Verdict LbfgsStage::tell(const exchange::Update& total, const Tail& tail) {
  const Problem& problem = fit_.problem;
  const std::size_t C = problem.outputs, features = problem.intercepts();
  const std::span<const double> rows = all_rows(total, kFeatures, scratch_);
  const std::span<const double> intercepts = total.dense<double>(kRest);
  std::vector<double> g(problem.size());
  double constants = 0;
  const double l2_intercept = fit_.parameters.l2_intercept;
  for (std::size_t c = 0; c < C; ++c) {
    const double b = fit_.w[features + c];
    g[features + c] = intercepts[c] / tail.weight + l2_intercept * b;
    constants += l2_intercept * b * b;
  }
  if (fit_.parameters.slope_tol > 0) largest_slope_ = largest_slope(rows, tail.weight, g);
  const double squares = sum(*fit_.job.pool, features, [&](std::size_t i) {
    const double factor = fit_.penalty_of(i / C), l2 = fit_.parameters.l2 * factor * factor;
    g[i] = rows[i] / tail.weight + l2 * fit_.w[i];
    if (problem.intercept) g[i] -= fit_.moments.mean(i / C) * g[features + i % C];
    return l2 * fit_.w[i] * fit_.w[i];
  });
  const double smooth = tail.loss / tail.weight + 0.5 * (squares + constants);
  return lbfgs_->tell(smooth, std::move(g), *fit_.job.pool);
}

void LbfgsStage::move(const exchange::Update& total, const Tail& tail, Outcome& outcome) {
  Progress& progress = fit_.progress;
  const double before = lbfgs_->value();
  const bool first = !lbfgs_->memory().started;
  const Lbfgs::Verdict verdict = tell(total, tail);
  verdict_ = verdict;
  if (progress.smoothing > 0) outcome.record["smoothing"] = progress.smoothing;
  outcome.record["step"] = name_of(verdict);
  const bool stuck = verdict == Lbfgs::Verdict::kStuck;
  std::string because = stuck ? "converged: no step lowers the objective" : "";
  if (verdict == Lbfgs::Verdict::kBetter && !still_falls(fit_, lbfgs_->value())) {
    because = fmt::format("converged: five rounds lowered the objective by less than tol={}",
                          fit_.parameters.tol);
  }
  const double slope_tol = fit_.parameters.slope_tol;
  if (verdict == Lbfgs::Verdict::kBetter && largest_slope_ <= slope_tol && slope_tol > 0) {
    because = fmt::format("converged: no slope is above slope_tol={}", slope_tol);
  }
  if (progress.smoothing > 0 && !first && verdict != Lbfgs::Verdict::kShorter) {
    because = sharpen(before, stuck, std::move(because), outcome);
  }
  if (!because.empty()) {
    progress.ended = {Ending::kConverged, because};
  } else {
    take_point(lbfgs_->point());
  }
}

// Makes the corner sharper where its rounding hides more than a step gains. `because`: why training
// would end at this rounding, or empty. Returns why it ends, or empty.
std::string LbfgsStage::sharpen(double before, bool stuck, std::string because,
                                const Outcome& outcome) {
  Progress& progress = fit_.progress;
  const double tol = fit_.parameters.tol;
  // The part that smoothing hides bounds how far this point is from the optimum of the corner
  // itself.
  const double hidden = outcome.objective - lbfgs_->value();
  const bool enough =
      hidden <= tol * std::abs(outcome.objective) || progress.smoothing <= kLeastSmoothing;
  const double slope_tol = fit_.parameters.slope_tol;
  // Where slopes are to vanish, each corner is gone down to the end.
  const bool slow = slope_tol == 0 && before - lbfgs_->value() < kSmoothEnough * hidden;
  if (enough || (because.empty() && !slow)) return because;
  const double gained = progress.stage_end - outcome.objective;
  if (slope_tol == 0 && progress.stage_end >= 0 && !stuck &&
      std::abs(gained) < kWorthSharpening * tol * std::abs(outcome.objective)) {
    return fmt::format("converged: a sharper corner lowered the objective by {:.2g}", gained);
  }
  progress.stage_end = outcome.objective;
  take_point(lbfgs_->memory().x);
  progress.smoothing *= kSharper;
  fit_.problem.loss.smoothing = progress.smoothing;
  progress.recent.clear();
  lbfgs_->begin_again();
  return "";
}

StageName LbfgsStage::finish(Outcome& outcome) {
  // Without a step, or where held-out rows have chosen, the model is as after SGD.
  if (!lbfgs_->memory().started) return LinearStage::finish(outcome);
  if (!fit_.best_w.empty()) {
    fit_.w = fit_.best_w;
  } else {
    take_point(lbfgs_->memory().x);
    // This round has looked at it already, unless its own point was worse.
    if (verdict_ == Lbfgs::Verdict::kBetter) {
      outcome.ending = fit_.progress.ended.ending;
      outcome.because = fit_.progress.ended.because;
      fit_.done = true;
      return StageName::kLbfgs;
    }
  }
  fit_.problem.loss.smoothing = 0;
  return StageName::kScore;
}

std::string pair_name(const char* which, std::size_t i) {
  return fmt::format("lbfgs_{}_{:03}", which, i);
}

void LbfgsStage::save(State& state) const {
  if (!lbfgs_) return;
  const Lbfgs::Memory& memory = lbfgs_->memory();
  carry(state, "lbfgs_x", memory.x);
  carry(state, "lbfgs_g", memory.g);
  carry(state, "lbfgs_d", memory.d);
  carry(state, "lbfgs_guess", memory.guess);
  for (std::size_t i = 0; i < memory.pairs.size(); ++i) {
    carry(state, pair_name("s", i), memory.pairs[i].s);
    carry(state, pair_name("y", i), memory.pairs[i].y);
  }
  state.progress["lbfgs"] = {{"f", memory.f},
                             {"t", memory.t},
                             {"tries", memory.tries},
                             {"started", memory.started},
                             {"pairs", memory.pairs.size()}};
}

void LbfgsStage::load(const data::SafetensorsFile& file, const Json& progress) {
  if (!progress.contains("lbfgs")) return;
  const Json& numbers = progress.at("lbfgs");
  const std::size_t P = fit_.w.size();
  Lbfgs::Memory memory;
  memory.x = carried<double>(file, "lbfgs_x", P);
  memory.g = carried<double>(file, "lbfgs_g", P);
  memory.d = carried<double>(file, "lbfgs_d", P);
  memory.guess = carried<double>(file, "lbfgs_guess", P);
  numbers.at("f").get_to(memory.f);
  numbers.at("t").get_to(memory.t);
  numbers.at("tries").get_to(memory.tries);
  numbers.at("started").get_to(memory.started);
  const auto pairs = numbers.at("pairs").get<std::size_t>();
  const bool whole =
      !memory.x.empty() && (!memory.started || (!memory.d.empty() && !memory.g.empty()));
  if (!whole || pairs > kMostPairs) {
    throw Error(ErrorKind::kInput, "not a linear model: L-BFGS is cut");
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    memory.pairs.push_back(
        {carried<float>(file, pair_name("s", i), P), carried<float>(file, pair_name("y", i), P)});
    if (memory.pairs.back().s.empty() || memory.pairs.back().y.empty()) {
      throw Error(ErrorKind::kInput, "not a linear model: pair {} of L-BFGS is missing", i);
    }
  }
  const auto most = static_cast<std::size_t>(fit_.parameters.history);
  while (memory.pairs.size() > most) memory.pairs.pop_front();
  restored_ = std::move(memory);
}

}  // namespace

std::unique_ptr<LinearStage> lbfgs_stage(Fit& fit) { return std::make_unique<LbfgsStage>(fit); }

}  // namespace meanwhile::learn::linear
