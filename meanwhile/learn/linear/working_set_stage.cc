// L1 by working sets: returns a model whose duality gap is at most `tol` times the objective of
// the model without weights, or the models of a path of penalties.
//
// A round takes the gradient at the model and so the gap (working_set_gap.h). Columns that no
// optimum can use leave for good. Of the others, those that violate the optimality conditions
// most, for what a column alone would bring, join those of the model in a block; a second round
// sums the products of the block's columns, and every worker solves it exactly, by coordinate
// descent on these (gram.h), so that what columns do to each other is computed, not avoided. The
// block doubles the number of weights from round to round. Margins are computed afresh from the
// model each time: nothing is carried along that a restart would have to repeat.
//
// A round costs a pass over the live columns; products cost, for each row, the square of how many
// of the block's columns it has.
//
// Massias, Gramfort, Salmon, "Celer: a fast solver for the lasso with dual extrapolation" (2018);
// Ndiaye and others, "Gap safe screening rules for sparsity enforcing penalties" (2017)
//
// Update of `gradient`: slopes by column, of each side | sums for the dual, tail. Of `gram`:
// nothing | products, sums of new columns, weight.
#include "meanwhile/learn/linear/working_set_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::linear {

namespace {

constexpr double kEnough = 1e-4;    // of the predicted decrease: a Newton step is taken
constexpr double kShortest = 1e-9;  // a Newton step is given up
constexpr std::int64_t kMostStalled = 3;
constexpr double kRounding = 1e-15;  // of an objective

}  // namespace

void WorkingSetStage::begin() {
  const std::size_t D = static_cast<std::size_t>(fit_.problem.cols);
  kept_.assign(fit_.job.part->shards.size(), {});
  numbering_ = {};
  if (!set_.begun && set_.live.empty()) {
    set_.live = all_live();
    if (fit_.parameters.path > 0) std::fill_n(fit_.w.begin(), D, 0.0);
    const bool fresh = std::all_of(fit_.w.begin(), fit_.w.begin() + static_cast<std::ptrdiff_t>(D),
                                   [](double w) { return w == 0; });
    const Problem& problem = fit_.problem;
    if (!problem.classes.empty() && fresh) {
      std::vector<double> sums = fit_.class_sums;
      for (std::size_t k = 0; k < problem.class_weights.size(); ++k)
        sums[k] *= problem.class_weights[k];
      intercept() =
          null_model(problem.loss.loss, sums[1] / (sums[0] + sums[1]), problem.intercept).intercept;
    }
    set_.centre = problem.classes.empty() ? intercept() : 0;
    set_.largest_l1 = fresh ? -1 : 0;  // to be found
  } else if (fit_.parameters.path > 0 && set_.largest_l1 > 0) {
    // A path that ran out of rounds has its best penalty there.
    fit_.progress.path_l1 = path_penalty(set_.largest_l1, fit_.parameters.path_ratio,
                                         fit_.parameters.path, fit_.path.size());
  }
  all_columns_ = all_live().size();
  number_columns();
}

// Columns that never change have no scale to be penalised by.
bool WorkingSetStage::is_constant(std::size_t column) const {
  if (!fit_.parameters.standardize) return false;
  return fit_.penalty_of(column) <= 1e-8 * std::sqrt(fit_.moments.second(column));
}

std::vector<std::int32_t> WorkingSetStage::all_live() const {
  std::vector<std::int32_t> live;
  for (std::int32_t j = 0; j < fit_.problem.cols; ++j) {
    if (!is_constant(static_cast<std::size_t>(j))) live.push_back(j);
  }
  return live;
}

// An upper bound of the root mean square of a column, around its mean where there is an intercept.
// Moments are by sample weight; weights of classes at most multiply them.
double WorkingSetStage::norm_of(std::size_t column) const {
  const double second = fit_.moments.second(column), mean = fit_.moments.mean(column);
  const double centred = std::max(0.0, second - (fit_.problem.intercept ? mean * mean : 0));
  double factor = 1;
  const std::vector<double>& classes = fit_.problem.class_weights;
  if (!classes.empty()) {
    factor = *std::max_element(classes.begin(), classes.end()) * fit_.progress.weight / set_.weight;
  }
  return std::sqrt(factor * (centred + 1e-12 * second));
}

// Numbers the columns that work() reads, from the model and the carried state.
void WorkingSetStage::number_columns() {
  const auto D = static_cast<std::size_t>(fit_.problem.cols);
  const bool may_keep = !fit_.dense && !fit_.job.release;
  const std::size_t now = numbering_.size(fit_);
  if (may_keep && 2 * set_.live.size() < now) {
    numbering_ = {++versions_, set_.live};
  } else if (set_.live.size() > now) {
    numbering_ = {};
  }
  const std::size_t size = numbering_.size(fit_);
  places_.resize(set_.live.size());
  if (numbering_.version == 0) {
    places_ = set_.live;
    w_.assign(fit_.w.begin(), fit_.w.begin() + static_cast<std::ptrdiff_t>(D));
  } else {
    w_.resize(size);
    std::size_t at = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::int32_t column = numbering_.columns[i];
      w_[i] = fit_.w[static_cast<std::size_t>(column)];
      if (at < set_.live.size() && set_.live[at] == column)
        places_[at++] = static_cast<std::int32_t>(i);
    }
  }
  if (set_.phase != WorkingSetPhase::kGram) return;
  slots_.assign(size, -1);
  for (std::size_t i = 0; i < set_.columns.size(); ++i) {
    const std::int64_t place =
        numbering_.version == 0 ? set_.columns[i] : place_of(numbering_.columns, set_.columns[i]);
    if (place >= 0) slots_[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(i);
  }
}

exchange::UpdateShape WorkingSetStage::update_shape() const {
  if (set_.phase == WorkingSetPhase::kGram) {
    const std::size_t numbers = packed_size(set_.known, fresh()) + fresh() + 1;
    return {exchange::Block{}, {.rows = static_cast<std::int64_t>(numbers)}};
  }
  const auto live = static_cast<std::int64_t>(set_.live.size()),
             width = static_cast<std::int64_t>(sides());
  exchange::Block slopes{.rows = live, .width = width};
  if (!fit_.dense) {
    const auto shards = static_cast<double>(std::max<std::size_t>(1, fit_.job.part->shards.size()));
    slopes = rows_block(live, width, static_cast<double>(fit_.job.part->stored) / shards);
  }
  return {slopes, rest_block(DualSums::kSize)};
}

void WorkingSetStage::work(int shard, exchange::Update& update) const {
  KeptRows& kept = kept_[static_cast<std::size_t>(shard)];
  const Point point{w_, intercept()};
  if (set_.phase == WorkingSetPhase::kGram) {
    const std::span<double> rest = update.dense<double>(kRest);
    const std::size_t products = packed_size(set_.known, fresh());
    GramPass pass{.slots = slots_,
                  .known = set_.known,
                  .products = rest.first(products),
                  .cross = rest.subspan(products, fresh())};
    gram_pass(fit_, shard, numbering_, kept, point, pass);
    rest.back() = pass.own;
    return;
  }
  const std::size_t each = sides();
  std::vector<double> gradient(numbering_.size(fit_) * each);
  GradientPass pass{
      .tail = {}, .dual = {}, .gradient = gradient, .sides = each, .centre = set_.centre};
  gradient_pass(fit_, shard, numbering_, kept, point, pass);
  score_held_out(fit_, shard, pass.tail);
  pass.tail.put(update);
  std::copy(pass.dual.values.begin(), pass.dual.values.end(), update.dense<double>(kRest).begin());
  put_rows(update, kFeatures, [&](std::int64_t i, double* to) {
    const auto place = static_cast<std::size_t>(places_[static_cast<std::size_t>(i)]);
    for (std::size_t side = 0; side < each; ++side) to[side] = gradient[place * each + side];
  });
}

// The model without weights: what gaps are compared with.
void WorkingSetStage::settle_null(const DualSums& sums, double objective) {
  const Problem& problem = fit_.problem;
  if (squared()) {
    const double mean = sums.of(0, 3) / set_.weight, second = sums.of(1, 0) / set_.weight;
    const double shifted = mean + set_.centre;
    set_.null_objective =
        0.5 * (problem.intercept ? second - mean * mean
                                 : second + 2 * set_.centre * mean + set_.centre * set_.centre);
    set_.noise = kRounding * 0.5 * (second + shifted * shifted);
  } else {
    std::vector<double> of_class = fit_.class_sums;
    for (std::size_t k = 0; k < problem.class_weights.size(); ++k)
      of_class[k] *= problem.class_weights[k];
    set_.null_objective =
        null_model(problem.loss.loss, of_class[1] / (of_class[0] + of_class[1]), problem.intercept)
            .loss;
    set_.noise = kRounding * set_.null_objective;
  }
  set_.last_objective = objective;
}

void WorkingSetStage::read_gradient(const exchange::Update& total, const DualSums& sums) {
  const std::span<const double> rows = all_rows(total, kFeatures, scratch_);
  const std::size_t each = sides(), live = set_.live.size();
  const double W = set_.weight;
  dual_ = balanced(fit_.problem.loss.loss, sums, W, fit_.problem.intercept);
  gradient_.resize(live);
  dual_columns_.resize(live);
  const double slope = squared() ? sums.of(0, 0) : sums.of(0, 0) - sums.of(1, 0);
  set_.intercept_slope = fit_.problem.intercept ? slope / W : 0;
  for (std::size_t i = 0; i < live; ++i) {
    const auto column = static_cast<std::size_t>(set_.live[i]);
    const std::span<const double> at = rows.subspan(i * each, each);
    gradient_[i] = (each == 2 ? at[0] + at[1] : at[0]) / W;
    dual_columns_[i] = {dual_.along(at, fit_.moments.mean(column), W), l1_of(column), l2_of(column),
                        fit_.w[column]};
  }
}

void WorkingSetStage::measure_gap(const DualSums& sums, double objective) {
  for (std::size_t i = 0; i < dual_columns_.size(); ++i) {
    dual_columns_[i].l1 = l1_of(static_cast<std::size_t>(set_.live[i]));
  }
  choose_scale(fit_.problem.loss.loss, sums, set_.weight, dual_columns_, dual_);
  if (!set_.has_dual || dual_.value > set_.best_dual) set_.best_dual = dual_.value;
  set_.has_dual = true;
  set_.gap = std::max(0.0, objective - set_.best_dual);
}

// Columns leave for good whose weight is zero at every optimum.
void WorkingSetStage::screen() {
  // A bound that rounding could have made is none.
  const double gap = std::max(set_.last_objective - dual_.value, set_.noise);
  const double radius = safe_radius(fit_.problem.loss.loss, gap);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < set_.live.size(); ++i) {
    const auto column = static_cast<std::size_t>(set_.live[i]);
    const DualColumn& dual = dual_columns_[i];
    const double most = dual_.scale * std::abs(dual.along) + norm_of(column) * radius;
    if (most < dual.l1 && fit_.w[column] == 0) continue;
    set_.live[kept] = set_.live[i];
    gradient_[kept] = gradient_[i];
    dual_columns_[kept] = dual;
    ++kept;
  }
  set_.live.resize(kept);
  gradient_.resize(kept);
  dual_columns_.resize(kept);
}

// Whether a Newton step lowered the objective enough; else it is made shorter.
bool WorkingSetStage::step_is_taken(double objective, Outcome& outcome) {
  if (!set_.trying) return true;
  const double slack = kRounding * std::abs(set_.before_objective);
  if (objective <= set_.before_objective - kEnough * set_.length * set_.predicted + slack) {
    set_.trying = false;
    return true;
  }
  outcome.record["step"] = "shorter";
  set_.length /= 2;
  const bool give_up = set_.length < kShortest;
  if (give_up) set_.length = 0;
  for (std::size_t i = 0; i < set_.columns.size(); ++i) {
    fit_.w[static_cast<std::size_t>(set_.columns[i])] =
        set_.before[i] + set_.length * set_.moves[i];
  }
  intercept() = set_.intercept_before + set_.length * set_.intercept_move;
  set_.scored = false;
  if (give_up) end("converged: no step lowers the objective");
  return false;
}

void WorkingSetStage::absorb_gradient(const exchange::Update& total, Outcome& outcome) {
  const Tail tail = Tail::of(total);
  DualSums sums;
  const std::span<const double> rest = total.dense<double>(kRest);
  std::copy_n(rest.begin(), DualSums::kSize, sums.values.begin());
  record_objective(fit_, tail, outcome);
  record_held_out(fit_, tail, outcome);
  ++fit_.progress.round;
  ++fit_.progress.stage_round;
  fit_.progress.last = outcome.objective;
  if (fit_.progress.initial < 0) fit_.progress.initial = outcome.objective;
  set_.weight = tail.weight;
  set_.scored = true;
  if (!set_.begun) settle_null(sums, outcome.objective);
  set_.begun = true;
  if (!step_is_taken(outcome.objective, outcome)) return;
  read_gradient(total, sums);
  if (set_.largest_l1 < 0) {
    set_.largest_l1 = 0;
    for (std::size_t i = 0; i < set_.live.size(); ++i) {
      const double factor = fit_.penalty_of(static_cast<std::size_t>(set_.live[i]));
      set_.largest_l1 = std::max(set_.largest_l1, std::abs(dual_columns_[i].along) / factor);
    }
    if (fit_.parameters.path > 0) fit_.progress.path_l1 = set_.largest_l1;
  }
  const bool same =
      outcome.objective >= set_.last_objective - kRounding * std::abs(set_.last_objective);
  set_.stalled = same ? set_.stalled + 1 : 0;
  set_.last_objective = outcome.objective;
  measure_gap(sums, outcome.objective);
  outcome.record["gap"] = set_.gap;
  outcome.record["relative_gap"] = set_.null_objective > 0 ? set_.gap / set_.null_objective : 0;
  const auto weights = std::span(fit_.w).first(fit_.problem.intercepts());
  outcome.record["nonzeros"] =
      weights.size() - static_cast<std::size_t>(std::count(weights.begin(), weights.end(), 0.0));
  for (;;) {
    const bool small = set_.gap <= target();
    if (!small && set_.stalled < kMostStalled) break;
    if (fit_.parameters.path == 0) {
      end(small ? fmt::format("converged: the duality gap is {:.2g}, at most tol={:g} of the "
                              "objective without weights",
                              set_.gap, fit_.parameters.tol)
                : fmt::format("converged: no step lowers the objective; the duality gap is {:.2g}",
                              set_.gap));
      return;
    }
    if (!next_penalty(outcome)) return;
    set_.stalled = 0;
    set_.has_dual = false;
    set_.last_objective = tail.sharp / tail.weight + fit_.penalty();
    // Columns that were screened for the last penalty have no known slope, so there is no gap.
    if (set_.live.size() < all_columns_) break;
    measure_gap(sums, set_.last_objective);
  }
  if (set_.has_dual) screen();
  outcome.record["live"] = set_.live.size();
  choose_block();
  outcome.record["block"] = set_.columns.size();
  if (!set_.has_dual) set_.live = all_live();
  if (squared() && fresh() == 0 && !solve()) set_.stalled = kMostStalled;
}

// Puts the model into the table of the path. Returns whether another penalty follows.
bool WorkingSetStage::next_penalty(const Outcome& outcome) {
  PathPoint& point = fit_.path.emplace_back();
  point.l1 = fit_.l1();
  point.objective = set_.last_objective;
  point.gap = set_.gap;
  point.rounds = fit_.progress.round;
  const auto weights = std::span(fit_.w).first(fit_.problem.intercepts());
  point.nonzeros =
      static_cast<std::int64_t>(weights.size()) - std::count(weights.begin(), weights.end(), 0.0);
  const Json& record = outcome.record;
  if (record.contains("held_out_loss")) {
    point.held_out_loss = record.at("held_out_loss").get<double>();
    if (record.contains("held_out_accuracy")) {
      point.held_out_accuracy = record.at("held_out_accuracy").get<double>();
    }
    const std::size_t best = chosen_point(fit_.path);
    if (best + 1 == fit_.path.size()) fit_.best_w = fit_.w;
    const auto since = static_cast<std::int64_t>(fit_.path.size() - 1 - best);
    if (since >= fit_.parameters.patience) {
      fit_.progress.ended = {
          Ending::kStopped,
          fmt::format("the held-out loss has not fallen for {} penalties", since)};
      return false;
    }
  }
  if (static_cast<std::int64_t>(fit_.path.size()) == fit_.parameters.path) {
    end(fmt::format("converged: the path has its {} penalties", fit_.path.size()));
    return false;
  }
  fit_.progress.path_l1 = path_penalty(set_.largest_l1, fit_.parameters.path_ratio,
                                       fit_.parameters.path, fit_.path.size());
  return true;
}

StageName WorkingSetStage::finish(Outcome& outcome) {
  const Ended& ended = fit_.progress.ended;
  if (!fit_.path.empty()) {
    const std::size_t best = chosen_point(fit_.path);
    const bool held_out = !fit_.best_w.empty();
    if (held_out) {
      if (ended.ending == Ending::kRanOut) fit_.last_w = fit_.w;
      fit_.w = fit_.best_w;
      fit_.progress.path_l1 = fit_.path[best].l1;
      return StageName::kScore;
    }
  }
  if (!set_.scored) return StageName::kScore;
  outcome.ending = ended.ending;
  outcome.because = ended.because;
  fit_.done = true;
  return StageName::kWorkingSet;
}

std::unique_ptr<LinearStage> working_set_stage(Fit& fit) {
  return std::make_unique<WorkingSetStage>(fit);
}

}  // namespace meanwhile::learn::linear
