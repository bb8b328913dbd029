#include "meanwhile/learn/factorize/parameters.h"

#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/learn/described.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;
using base::parameter;

namespace {

// A row of factors is a row of an update, which has a largest size.
constexpr std::int64_t kMostFactors = 4096;
constexpr std::int64_t kMostRounds = 1'000'000;

void in_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::kUsage, "{} is {}; it must be {} to {}", name, value, least, most);
}

}  // namespace

void validate(const Parameters& p) {
  in_range("n_factors", p.n_factors, 1, kMostFactors);
  in_range("max_iter", p.max_iter, 1, kMostRounds);
  in_range("cg_steps", p.cg_steps, 0, kMostFactors);
  const auto not_negative = [](const char* name, double value) {
    if (value >= 0 && std::isfinite(value)) return;
    throw Error(ErrorKind::kUsage, "{} is {}; it must be 0 or more", name, value);
  };
  not_negative("l2", p.l2);
  not_negative("alpha", p.alpha);
  not_negative("tol", p.tol);
  not_negative("learning_rate", p.learning_rate);
  if (p.solver == Solver::kSgd && p.feedback == Feedback::kImplicit) {
    throw Error(ErrorKind::kUsage,
                "{} sgd learns from explicit feedback; for implicit, give {} als",
                parameter("solver"), parameter("solver"));
  }
  if (p.feedback == Feedback::kImplicit && !p.input.weight_column.empty()) {
    throw Error(ErrorKind::kUsage,
                "{}: with implicit feedback a count is a confidence already; weigh it in {}",
                parameter("weight_column"), parameter("rating_column"));
  }
}

Json to_json(const Parameters& parameters) { return described_json(parameters); }

Parameters parameters_from_json(const Json& json) {
  auto parameters = from_described<Parameters>(json, "factorize");
  validate(parameters);
  return parameters;
}

Duplicates settled_duplicates(const Parameters& p) {
  if (p.input.duplicates != Duplicates::kAuto) return p.input.duplicates;
  return p.feedback == Feedback::kImplicit ? Duplicates::kSum : Duplicates::kLast;
}

}  // namespace meanwhile::learn::factorize
