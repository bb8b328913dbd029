#include "meanwhile/learn/linear/parameters.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"

namespace meanwhile::learn::linear {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::int64_t kMost = std::int64_t{1} << 30;

void in_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most = kMost) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::kUsage, "{} is {}; it must be from {} to {}", name, value, least, most);
}

void in_range(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::kUsage, "{} is {}; it must be from {} to {}", name, value, least, most);
}

// Refuses parameters that lbfgs alone looks at.
void check_lbfgs_alone(const Parameters& p) {
  if (p.solver == Solver::kLbfgs) return;
  const char* const name =
      p.l2_intercept > 0 ? "l2_intercept" : (p.slope_tol > 0 ? "slope_tol" : nullptr);
  if (name == nullptr) return;
  throw Error(ErrorKind::kUsage, "{} is above 0, which goes with solver lbfgs; solver is {}", name,
              to_string(p.solver));
}

void check_working_set(const Parameters& p) {
  in_range("path", p.path, 0, 100'000);
  if (!(p.path_ratio > 0 && p.path_ratio < 1)) {
    throw Error(ErrorKind::kUsage, "path_ratio is {}; it must be above 0 and below 1",
                p.path_ratio);
  }
  in_range("block", p.block, 2, 32'768);
  if (p.solver != Solver::kWorkingSet) {
    if (p.path == 0) return;
    throw Error(ErrorKind::kUsage, "path is {}, which goes with solver working-set; solver is {}",
                p.path, to_string(p.solver));
  }
  if (*p.loss == Loss::kHinge || *p.loss == Loss::kHuber) {
    throw Error(
        ErrorKind::kUsage,
        "solver is working-set, which needs loss squared, logistic or squared_hinge; loss is "
        "{}{}",
        to_string(*p.loss), *p.loss == Loss::kHinge ? ", so try squared_hinge" : "");
  }
  if (p.path == 1) throw Error(ErrorKind::kUsage, "path is 1; it must be 0 or at least 2");
  if (p.path > 0 && p.l1 > 0) {
    throw Error(ErrorKind::kUsage, "l1 is {} and path {}: a path chooses l1; give one of them",
                p.l1, p.path);
  }
  if (p.path == 0 && p.l1 == 0) {
    throw Error(
        ErrorKind::kUsage,
        "solver is working-set, which needs l1 above 0 or a path of penalties; without l1 use "
        "solver lbfgs");
  }
}

}  // namespace

Kind kind_of(const std::string& learner) {
  if (const auto kind = find_choice<Kind>(learner)) return *kind;
  throw Error(ErrorKind::kInput, "not a linear model: it was made by the learner '{}'", learner);
}

std::vector<Loss> losses(Kind kind) {
  switch (kind) {
    case Kind::kSvm:
      return {Loss::kHinge, Loss::kSquaredHinge};
    case Kind::kLogistic:
      return {Loss::kLogistic};
    case Kind::kLinear:
      return {Loss::kSquared, Loss::kHuber};
  }
  return {};
}

Parameters settled(Kind kind, Parameters p) {
  const std::vector<Loss> known = losses(kind);
  if (!p.loss) p.loss = known.front();
  if (std::find(known.begin(), known.end(), *p.loss) == known.end()) {
    refuse_choice("loss", to_string(*p.loss), choices(known));
  }
  constexpr double kLarge = 1e30;
  in_range("l1", p.l1, 0, kLarge);
  in_range("l2", p.l2, 0, kLarge);
  in_range("l2_intercept", p.l2_intercept, 0, kLarge);
  in_range("slope_tol", p.slope_tol, 0, kLarge);
  check_lbfgs_alone(p);
  if (!(p.batch_fraction > 0 && p.batch_fraction <= 1)) {
    throw Error(ErrorKind::kUsage, "batch_fraction is {}; it must be above 0 and at most 1",
                p.batch_fraction);
  }
  in_range("learning_rate", p.learning_rate, 0, kLarge);
  if (kind == Kind::kSvm && p.multi_class == MultiClass::kSoftmax) {
    throw Error(ErrorKind::kUsage, "multi_class is softmax, which is for logistic; svm has ovr");
  }
  if (kind == Kind::kLinear && p.class_weight != ClassWeight::kNone) {
    throw Error(ErrorKind::kUsage, "class_weight is given, but linear has no classes");
  }
  in_range("huber_delta", p.huber_delta, 0, kLarge);
  in_range("max_iter", p.max_iter, 1);
  in_range("tol", p.tol, 0, 1);
  in_range("validation_fraction", p.validation_fraction, 0, 0.9);
  in_range("patience", p.patience, 1);
  in_range("history", p.history, 1, 100);
  check_working_set(p);
  if (p.solver != Solver::kSgd && p.solver != Solver::kAuto && p.send == Send::kGradient) {
    throw Error(ErrorKind::kUsage,
                "send is gradient, which goes with solver sgd; lbfgs sends whole gradients anyway");
  }
  return p;
}

Json to_json(const Parameters& parameters) { return described_json(parameters); }

Parameters parameters_from_json(const Json& json) {
  return from_described<Parameters>(json, "a linear model");
}

}  // namespace meanwhile::learn::linear
