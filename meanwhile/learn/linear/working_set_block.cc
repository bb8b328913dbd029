// The block of a working set: which columns it has, and its solution.
//
// The columns that violate the optimality conditions most, for what each alone would bring, join;
// as many as the model has weights, so that the block doubles. Squared loss keeps columns whose
// products are known, until there is no room: then those without a weight go, and then those that
// the last solution left nearest to their optimum.
#include <algorithm>
#include <cmath>

#include "meanwhile/learn/linear/working_set_stage.h"

namespace meanwhile::learn::linear {

namespace {

constexpr std::size_t kFirstColumns = 128;  // that join at least, where so many violate
constexpr std::size_t kMostColumns = 1024;  // that join at once, at most
constexpr double kBlockPart = 0.3;          // of the gap asked for: what a block may be off by
constexpr int kMostEpochs = 20'000;         // of a block

// For plans, where nothing is known of the model: rounds, and columns of a block.
constexpr double kUsualRounds = 10, kUsualPathRounds = 3, kUsualBlock = 512;

}  // namespace

// Keeps these positions of the block, ascending.
void WorkingSetStage::keep_in_block(const std::vector<std::size_t>& positions) {
  std::vector<std::size_t> known;
  for (const std::size_t position : positions) {
    if (position < set_.known) known.push_back(position);
  }
  for (std::size_t i = 0; i < positions.size(); ++i) set_.columns[i] = set_.columns[positions[i]];
  set_.columns.resize(positions.size());
  if (known.size() == set_.known) return;
  for (std::size_t i = 0; i < known.size(); ++i) set_.cross[i] = set_.cross[known[i]];
  set_.cross.resize(known.size());
  set_.gram.keep(known);
  set_.known = known.size();
}

// Makes room in the block: columns without a weight go first; then those that the last solution
// left nearest to their optimum.
void WorkingSetStage::drop_from_block(std::size_t joining) {
  std::vector<Candidate> weighted;
  for (std::size_t i = 0; i < set_.columns.size(); ++i) {
    const auto column = static_cast<std::size_t>(set_.columns[i]);
    if (fit_.w[column] == 0) continue;
    const auto place = static_cast<std::size_t>(place_of(set_.live, set_.columns[i]));
    weighted.push_back({static_cast<std::int32_t>(i), violation_at(place)});
  }
  const std::vector<std::int32_t> top = top_candidates(std::move(weighted), most() - joining);
  keep_in_block({top.begin(), top.end()});
}

// How far the subgradient of a live column is from zero.
double WorkingSetStage::violation_at(std::size_t place) const {
  const auto column = static_cast<std::size_t>(set_.live[place]);
  const double w = fit_.w[column], slope = gradient_[place] + l2_of(column) * w;
  if (w != 0) return std::abs(slope + std::copysign(l1_of(column), w));
  return std::abs(slope) - l1_of(column);
}

void WorkingSetStage::choose_block() {
  // Squared loss keeps a block, but for columns that were screened; others begin with the weights.
  std::vector<std::size_t> stay;
  if (!squared()) {
    set_.columns.clear();
    set_.known = 0, set_.gram.clear(), set_.cross.clear();
  }
  for (std::size_t i = 0; i < set_.columns.size(); ++i) {
    if (place_of(set_.live, set_.columns[i]) >= 0) stay.push_back(i);
  }
  keep_in_block(stay);
  std::vector<bool> inside(set_.live.size());
  for (const std::int32_t column : set_.columns) {
    inside[static_cast<std::size_t>(place_of(set_.live, column))] = true;
  }
  std::vector<Candidate> violating, weighted;
  for (std::size_t i = 0; i < set_.live.size(); ++i) {
    const auto column = static_cast<std::size_t>(set_.live[i]);
    const double norm = norm_of(column);
    if (inside[i] || norm == 0) continue;
    const double violation = violation_at(i);
    if (violation > 0) violating.push_back({set_.live[i], violation / norm});
    if (fit_.w[column] != 0) weighted.push_back({set_.live[i], violation / norm});
  }
  std::size_t weights = weighted.size();
  for (const std::int32_t column : set_.columns) {
    weights += fit_.w[static_cast<std::size_t>(column)] != 0;
  }
  const std::size_t joining =
      std::min({violating.size(), std::clamp(weights, kFirstColumns, kMostColumns), most() / 2});
  std::vector<std::int32_t> fresh = top_candidates(std::move(violating), joining);
  if (set_.columns.size() + joining > most()) drop_from_block(joining);
  // Weights that violate nothing belong to the block, too, while it has room.
  std::erase_if(weighted, [&](const Candidate& one) { return place_of(fresh, one.column) >= 0; });
  const std::size_t room =
      std::min(most() - set_.columns.size() - fresh.size(), squared() ? kMostColumns : most());
  const std::vector<std::int32_t> more = top_candidates(std::move(weighted), room);
  fresh.insert(fresh.end(), more.begin(), more.end());
  std::sort(fresh.begin(), fresh.end());
  set_.columns.insert(set_.columns.end(), fresh.begin(), fresh.end());
  set_.slopes.clear();
  for (const std::int32_t column : set_.columns) {
    set_.slopes.push_back(gradient_[static_cast<std::size_t>(place_of(set_.live, column))]);
  }
  if (!squared() || this->fresh() > 0) set_.phase = WorkingSetPhase::kGram;
}

void WorkingSetStage::absorb_gram(const exchange::Update& total, Outcome& outcome) {
  outcome.phase = Phase::kPrepare;
  const std::span<const double> rest = total.dense<double>(kRest);
  const std::size_t known = set_.known, more = fresh(), products = packed_size(known, more);
  const double W = set_.weight;
  set_.gram.grow(more);
  for (std::size_t a = 0; a < more; ++a) {
    const double* from = rest.data() + packed_row(known, a);
    for (std::size_t b = 0; b <= known + a; ++b) set_.gram.set(known + a, b, from[b] / W);
    set_.cross.push_back(rest[products + a] / W);
  }
  set_.known = set_.columns.size();
  set_.phase = WorkingSetPhase::kGradient;
  if (squared()) {
    solve();
    return;
  }
  set_.before.clear();
  for (const std::int32_t column : set_.columns)
    set_.before.push_back(fit_.w[static_cast<std::size_t>(column)]);
  set_.intercept_before = intercept();
  set_.before_objective = set_.last_objective;
  set_.own = rest.back() / W;
  const bool moved = solve();
  set_.moves.clear();
  for (std::size_t i = 0; i < set_.columns.size(); ++i) {
    set_.moves.push_back(fit_.w[static_cast<std::size_t>(set_.columns[i])] - set_.before[i]);
  }
  set_.intercept_move = intercept() - set_.intercept_before;
  set_.length = 1;
  set_.trying = moved;
  set_.known = 0, set_.gram.clear(), set_.cross.clear();
}

// Solves the block. Returns whether the model changed.
bool WorkingSetStage::solve() {
  const std::size_t size = set_.columns.size();
  std::vector<double> start(size), l1(size), l2(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto column = static_cast<std::size_t>(set_.columns[i]);
    start[i] = fit_.w[column], l1[i] = l1_of(column), l2[i] = l2_of(column);
  }
  const BlockProblem problem{.gram = set_.gram,
                             .slopes = set_.slopes,
                             .start = start,
                             .l1 = l1,
                             .l2 = l2,
                             .intercept = fit_.problem.intercept,
                             .cross = set_.cross,
                             .own = squared() ? 1 : set_.own,
                             .slope = set_.intercept_slope};
  // l1 |w| is below the objective, so violations of this size make a gap of kBlockPart of the
  // target.
  const double tolerance =
      kBlockPart * fit_.l1() * target() / std::max(set_.null_objective, 1e-300);
  const BlockSolution solution = solve_block(problem, tolerance, kMostEpochs);
  bool moved = solution.intercept_move != 0;
  for (std::size_t i = 0; i < size; ++i) {
    moved |= solution.w[i] != start[i];
    fit_.w[static_cast<std::size_t>(set_.columns[i])] = solution.w[i];
  }
  intercept() += solution.intercept_move;
  set_.predicted = std::max(0.0, solution.decrease);
  set_.scored = !moved;
  return moved;
}

double working_set_rounds(const Fit& fit) {
  const auto penalties = static_cast<double>(fit.parameters.path);
  return penalties > 0 ? kUsualPathRounds * penalties : kUsualRounds;
}

// A round of products before each gradient but the first.
void WorkingSetStage::plan(const Shape& shape, const Cost& train,
                           std::vector<Stretch>& course) const {
  const auto cols = static_cast<double>(shape.cols), rows = static_cast<double>(shape.rows);
  const double block = std::min({cols, kUsualBlock, static_cast<double>(most())});
  const double each = static_cast<double>(shape.stored) / std::max(1.0, rows);
  const double of_block = shape.sparse ? std::min(each, block) : block;
  Cost cost = train;
  cost.flops = 2 * static_cast<double>(shape.stored) + rows * of_block * of_block;
  cost.update_bytes = 8 * block * (block + 1) / 2;
  cost.absorb_bytes = 3 * cost.update_bytes;
  course.push_back({Phase::kPrepare, working_set_rounds(fit_) - 1, cost});
}

}  // namespace meanwhile::learn::linear
