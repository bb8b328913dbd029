// The last round. With beliefs b and cavities as they are in messages.h,
//
//   log Z = sum over factors f of log (sum over x of table_f(x) exp(sum of cavities))
//         + sum over variables i of (1 - d_i) log (sum over x of exp(b_i(x)))
//
// d_i the messages into i: Bethe's approximation, exact on forests. Factors of one variable add
// what their fields were divided by. Terms of factors are added as whole numbers (a whole part, and
// a fraction in units of 2^-36), so that log Z depends neither on shards nor on workers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/belief/cached.h"

namespace meanwhile::learn::belief {

using base::Error;
using base::ErrorKind;

namespace {

enum Scored { kWhole, kFraction, kImpossible };
constexpr double kFractionUnits = 0x1p36;
constexpr std::int64_t kScoreTask = 1 << 14;

void add_term(double term, std::span<std::int64_t> scored) {
  if (term == kHardZero) {
    ++scored[kImpossible];
    return;
  }
  const double whole = std::floor(term);
  scored[kWhole] += static_cast<std::int64_t>(whole);
  scored[kFraction] += std::llround((term - whole) * kFractionUnits);
}

// The first of the states with the largest weight.
std::int64_t decoded(std::span<const double> weights) {
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

}  // namespace

// Probabilities of the states of a variable from its values, and the logarithm of their sum.
double Belief::weights_of(std::size_t variable, std::vector<double>& weights) const {
  const auto first = static_cast<std::size_t>(facts_.start[variable]);
  const auto card = static_cast<std::size_t>(facts_.cards[variable]);
  weights.assign(card + kVectorPadding, 0);
  double most = kZeroLog;
  for (std::size_t k = 0; k < card; ++k) {
    const bool possible = zeros_.empty() || facts_.is_ratio(variable) || zeros_[first + k] == 0;
    double value = 2 * kZeroLog;
    if (facts_.is_ratio(variable)) {
      value = k == 0 ? 0 : belief_[first];
    } else if (possible) {
      value = belief_[first + k];
    }
    weights[k] = value;
    most = std::max(most, value);
  }
  for (std::size_t k = 0; k < card; ++k) {
    if (weights[k] > kZeroLog) weights[k] -= most;
  }
  exp_in_place(weights.data(), card);
  double sum = 0;
  for (std::size_t k = 0; k < card; ++k) sum += weights[k];
  for (std::size_t k = 0; k < card; ++k) weights[k] /= sum;
  weights.resize(card);
  return most + log_of(sum);
}

double Belief::make_marginals(std::vector<double>& marginals) const {
  std::vector<std::size_t> start(facts_.cards.size() + 1, 0);
  for (std::size_t v = 0; v < facts_.cards.size(); ++v) {
    start[v + 1] = start[v] + static_cast<std::size_t>(facts_.cards[v]);
  }
  marginals.resize(start.back());
  const std::int64_t tasks = variables_ / kScoreTask + 1;
  std::vector<double> sums(static_cast<std::size_t>(tasks));
  attachment_.pool->run(tasks, [&](std::int64_t task, int) {
    std::vector<double> weights;
    double sum = 0;
    const std::int64_t end = std::min(variables_, (task + 1) * kScoreTask);
    for (auto v = static_cast<std::size_t>(task * kScoreTask); v < static_cast<std::size_t>(end);
         ++v) {
      sum += (1 - facts_.degree[v]) * weights_of(v, weights);
      std::copy(weights.begin(), weights.end(),
                marginals.begin() + static_cast<std::ptrdiff_t>(start[v]));
    }
    sums[static_cast<std::size_t>(task)] = sum;
  });
  double log_z = 0;
  for (const double sum : sums) log_z += sum;
  return log_z;
}

void Belief::work_score(int number, std::span<const double> messages, exchange::Update& update) {
  const ShardFactors& shard = cached(number).factors;
  const auto scored = update.dense<std::int64_t>(0);
  MessageMaker maker({facts_, shard, belief_, zeros_, messages});
  const data::RowRange range = rows_of(number);
  std::vector<double> weights;
  std::size_t f = 0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const data::FactorRow factor = data::factor_row(rows(), i, variables_);
    if (parameters_.map) {
      std::int64_t place = 0;
      for (std::size_t k = 0; k < factor.arity(); ++k) {
        weights_of(static_cast<std::size_t>(factor.variables[k]), weights);
        place = place * factor.card(k) + decoded(weights);
      }
      const auto found = std::lower_bound(factor.places.begin(), factor.places.end(),
                                          static_cast<std::int32_t>(place + 2 * variables_));
      const bool possible = found != factor.places.end() && *found == place + 2 * variables_;
      const auto at = static_cast<std::size_t>(found - factor.places.begin());
      add_term(possible ? log_of(factor.values[at]) : kHardZero, scored);
    } else if (factor.arity() >= 2) {
      add_term(maker.log_sum(f++), scored);
    } else {
      const bool ratio =
          factor.arity() == 1 && facts_.is_ratio(static_cast<std::size_t>(factor.variables[0]));
      const double most = *std::max_element(factor.values.begin(), factor.values.end());
      add_term(log_of(ratio ? factor.values[0] : most), scored);
    }
  }
}

void Belief::take_score(const exchange::Update& total) {
  const auto scored = total.dense<std::int64_t>(0);
  double log_z = make_marginals(found_);
  if (parameters_.map) log_z = 0;
  log_z += static_cast<double>(scored[kWhole]);
  log_z += static_cast<double>(scored[kFraction]) / kFractionUnits;
  if (scored[kImpossible] > 0) log_z = kHardZero;
  if (course_.after_score(log_z)) {
    marginals_ = found_;
    best_worst_ = worst_;
  }
  if (course_.step() != Step::kDone) return begin_attempt();
  const AttemptResult& best = course_.best();
  if (best.converged && parameters_.map && !std::isfinite(best.log_z)) {
    ended_ = {Ending::kConverged,
              "converged, but the decoded state is impossible: by a table, its weight is 0"};
  } else if (best.converged) {
    ended_ = {Ending::kConverged, fmt::format("converged: no message would change by more than "
                                              "{:.3g}",
                                              best.residual)};
  } else {
    ended_ = {Ending::kRanOut, fmt::format("max_iter={} reached, residual {:.3g}",
                                           parameters_.max_iter, best.residual)};
  }
}

Json Belief::record() const {
  if (course_.results().empty()) {
    return {{"residual", course_.residual()}, {"sweeps", course_.sweeps()}, {"converged", false}};
  }
  const char* const name = parameters_.map ? "log10_value" : "log10_z";
  // JSON has no infinity: a decoded state of no weight has no logarithm.
  const auto shown = [&](const AttemptResult& result) {
    const double log10 = result.log_z / std::numbers::ln10;
    return Json{{"schedule", to_string(result.attempt.schedule)},
                {"damping", result.attempt.damping},
                {"converged", result.converged},
                {"residual", result.residual},
                {"sweeps", result.sweeps},
                {name, std::isfinite(log10) ? Json(log10) : Json()}};
  };
  Json json = shown(course_.best());
  json["worst"] = Json::array();
  for (const Worst& one : best_worst_) {
    json["worst"].push_back({{"variable", one.variable}, {"residual", one.residual}});
  }
  json["attempts"] = Json::array();
  for (const AttemptResult& result : course_.results()) json["attempts"].push_back(shown(result));
  return json;
}

}  // namespace meanwhile::learn::belief
