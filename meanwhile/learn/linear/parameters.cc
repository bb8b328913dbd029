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

void one_of(const char* name, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string list;
  for (const std::string& word : known) list += (list.empty() ? "" : ", ") + word;
  throw Error(ErrorKind::kUsage, "{} is '{}'; it must be one of: {}", name, value, list);
}

}  // namespace

std::string to_string(Kind kind) {
  switch (kind) {
    case Kind::kSvm:
      return "svm";
    case Kind::kLogistic:
      return "logistic";
    case Kind::kLinear:
      return "linear";
  }
  return {};
}

Kind kind_of(const std::string& learner) {
  for (const Kind kind : {Kind::kSvm, Kind::kLogistic, Kind::kLinear}) {
    if (learner == to_string(kind)) return kind;
  }
  throw Error(ErrorKind::kInput, "not a linear model: it was made by the learner '{}'", learner);
}

std::vector<std::string> losses(Kind kind) {
  switch (kind) {
    case Kind::kSvm:
      return {"hinge", "squared_hinge"};
    case Kind::kLogistic:
      return {"logistic"};
    case Kind::kLinear:
      return {"squared", "huber"};
  }
  return {};
}

Loss loss_of(const std::string& name) {
  if (name == "squared_hinge") return Loss::kSquaredHinge;
  if (name == "logistic") return Loss::kLogistic;
  if (name == "squared") return Loss::kSquared;
  if (name == "huber") return Loss::kHuber;
  return Loss::kHinge;
}

Parameters settled(Kind kind, Parameters p) {
  if (p.loss.empty()) p.loss = losses(kind).front();
  one_of("loss", p.loss, losses(kind));
  constexpr double kLarge = 1e30;
  in_range("l1", p.l1, 0, kLarge);
  in_range("l2", p.l2, 0, kLarge);
  one_of("solver", p.solver, {"auto", "sgd", "lbfgs", "hybrid"});
  one_of("send", p.send, {"model", "gradient"});
  if (!(p.batch_fraction > 0 && p.batch_fraction <= 1)) {
    throw Error(ErrorKind::kUsage, "batch_fraction is {}; it must be above 0 and at most 1",
                p.batch_fraction);
  }
  in_range("learning_rate", p.learning_rate, 0, kLarge);
  one_of("multi_class", p.multi_class, {"auto", "softmax", "ovr"});
  if (kind == Kind::kSvm && p.multi_class == "softmax") {
    throw Error(ErrorKind::kUsage, "multi_class is softmax, which is for logistic; svm has ovr");
  }
  if (kind == Kind::kLinear && !p.class_weight.empty()) {
    throw Error(ErrorKind::kUsage, "class_weight is given, but linear has no classes");
  }
  in_range("huber_delta", p.huber_delta, 0, kLarge);
  in_range("max_iter", p.max_iter, 1);
  in_range("tol", p.tol, 0, 1);
  in_range("validation_fraction", p.validation_fraction, 0, 0.9);
  in_range("patience", p.patience, 1);
  in_range("history", p.history, 1, 100);
  if (p.solver != "sgd" && p.solver != "auto" && p.send == "gradient") {
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
