// The course of a run as JSON, and back. Numbers that lead the rounds that follow are checked.
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/belief/course.h"

namespace meanwhile::learn::belief {

namespace {

// JSON has no infinity.
Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::int64_t whole_in(const Json& json, const char* name, std::int64_t least, std::int64_t most) {
  const std::int64_t value = base::integer_or(json, name, least - 1);
  if (value < least || value > most) {
    throw base::Error(base::ErrorKind::kInput, "not a state of belief propagation: '{}' is {}",
                      name, value);
  }
  return value;
}

}  // namespace

Json Course::to_json() const {
  Json results = Json::array();
  for (const AttemptResult& result : results_) {
    results.push_back({{"attempt", result.number},
                       {"converged", result.converged},
                       {"residual", result.residual},
                       {"sweeps", result.sweeps},
                       {"log_z", finite_or_null(result.log_z)}});
  }
  return {{"step", static_cast<int>(step_)},
          {"messages", messages_},
          {"orders", orders_},
          {"attempt", number_},
          {"results", results},
          {"best", best_},
          {"fresh", fresh_},
          {"converged", converged_},
          {"sent", sent_},
          {"order", order_},
          {"backwards", backwards_},
          {"pass_residual", pass_residual_},
          {"turns", turns_},
          {"threshold", threshold_},
          {"residual", residual_},
          {"lowest", finite_or_null(lowest_)},
          {"lowest_sent", lowest_sent_},
          {"checked_sent", checked_sent_}};
}

void Course::restore(const Json& json) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  step_ = static_cast<Step>(whole_in(json, "step", 0, static_cast<int>(Step::kDone)));
  messages_ = whole_in(json, "messages", 0, kMost);
  orders_ = whole_in(json, "orders", 0, kMost);
  number_ = whole_in(json, "attempt", 0, std::ssize(attempts_) - 1);
  sent_ = whole_in(json, "sent", 0, kMost);
  turns_ = whole_in(json, "turns", 0, kMost);
  lowest_sent_ = whole_in(json, "lowest_sent", 0, kMost);
  checked_sent_ = whole_in(json, "checked_sent", -1, kMost);
  order_ = whole_in(json, "order", std::min<std::int64_t>(orders_ - 1, 0),
                    std::max<std::int64_t>(orders_ - 1, 0));
  fresh_ = base::flag_or(json, "fresh", true);
  converged_ = base::flag_or(json, "converged", false);
  backwards_ = base::flag_or(json, "backwards", true);
  pass_residual_ = base::number_or(json, "pass_residual", 0);
  threshold_ = base::number_or(json, "threshold", 0);
  residual_ = base::number_or(json, "residual", 0);
  lowest_ = base::number_or(json, "lowest", kInfinity);
  results_.clear();
  const Json& results = base::member_or_null(json, "results");
  for (std::size_t i = 0; results.is_array() && i < results.size(); ++i) {
    const std::int64_t number = whole_in(results[i], "attempt", 0, std::ssize(attempts_) - 1);
    results_.push_back({number, attempts_[static_cast<std::size_t>(number)],
                        base::flag_or(results[i], "converged", false),
                        base::number_or(results[i], "residual", kInfinity),
                        base::number_or(results[i], "sweeps", 0),
                        base::number_or(results[i], "log_z", -kInfinity)});
  }
  best_ = results_.empty() ? 0 : whole_in(json, "best", 0, std::ssize(results_) - 1);
  // Where sweeps had run out, more may be allowed now: the last attempt goes on, and what it had
  // found so far stays a result, which may be the best one.
  if (step_ == Step::kDone && results_.empty()) step_ = Step::kScore;
  if (step_ == Step::kDone && !converged_ && !best().converged && !out_of_sweeps()) {
    checked_sent_ = -1;
    step_ = first_step();
  }
}

}  // namespace meanwhile::learn::belief
