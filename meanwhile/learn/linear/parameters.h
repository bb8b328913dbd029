// The parameters of linear models, each described once: name, meaning, default. The command line,
// the JSON of run.json and the model's metadata are made from this description.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/learn/learner.h"
#include "meanwhile/learn/linear/loss.h"
#include "meanwhile/learn/send.h"

namespace meanwhile::learn::linear {

// Three learners that differ in their losses alone.
enum class Kind { kSvm, kLogistic, kLinear };
inline constexpr Named<Kind> kKinds[] = {
    {Kind::kSvm, "svm"}, {Kind::kLogistic, "logistic"}, {Kind::kLinear, "linear"}};
constexpr std::span<const Named<Kind>> names(Kind) { return kKinds; }
using learn::to_string;
// THROWS Error(kInput).
Kind kind_of(const std::string& learner);

enum class Solver { kAuto, kSgd, kLbfgs, kHybrid, kWorkingSet };
inline constexpr Named<Solver> kSolvers[] = {{Solver::kAuto, "auto"},
                                             {Solver::kSgd, "sgd"},
                                             {Solver::kLbfgs, "lbfgs"},
                                             {Solver::kHybrid, "hybrid"},
                                             {Solver::kWorkingSet, "working-set"}};
constexpr std::span<const Named<Solver>> names(Solver) { return kSolvers; }

enum class MultiClass { kAuto, kSoftmax, kOvr };
inline constexpr Named<MultiClass> kMultiClasses[] = {
    {MultiClass::kAuto, "auto"}, {MultiClass::kSoftmax, "softmax"}, {MultiClass::kOvr, "ovr"}};
constexpr std::span<const Named<MultiClass>> names(MultiClass) { return kMultiClasses; }

// Other text is a list of weights by label, "1:2.5,-1:1".
enum class ClassWeight { kNone, kBalanced };
inline constexpr Named<ClassWeight> kClassWeights[] = {{ClassWeight::kNone, ""},
                                                       {ClassWeight::kBalanced, "balanced"}};
constexpr std::span<const Named<ClassWeight>> names(ClassWeight) { return kClassWeights; }

struct Parameters {
  std::optional<Loss> loss;  // none until settled: the default depends on the kind
  double l1 = 0;
  double l2 = 1e-4;
  double l2_intercept = 0;
  Solver solver = Solver::kAuto;
  Send send = Send::kModel;
  double batch_fraction = 0.01;
  double learning_rate = 0;
  bool adaptive = false;
  bool average = false;
  bool fit_intercept = true;
  bool standardize = false;
  OpenChoice<ClassWeight> class_weight = ClassWeight::kNone;
  MultiClass multi_class = MultiClass::kAuto;
  double huber_delta = 0;
  std::int64_t max_iter = 200;
  double tol = 1e-4;
  double slope_tol = 0;
  double validation_fraction = 0;
  std::int64_t patience = 10;
  std::int64_t history = 10;
  std::int64_t path = 0;
  double path_ratio = 1e-3;
  std::int64_t block = 4096;
};

// Calls visit(name, field, help) for each parameter.
template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("loss", p.loss, "svm: hinge, squared_hinge; logistic: logistic; linear: squared, huber");
  visit("l1", p.l1, "weight of the penalty sum |w|, which makes weights exactly zero");
  visit("l2", p.l2, "weight of the penalty sum w^2 / 2, added to the mean loss of the rows");
  visit("l2_intercept", p.l2_intercept,
        "weight of the penalty b^2 / 2 of the intercept b, with solver lbfgs");
  visit("solver", p.solver,
        "algorithm: sgd; lbfgs (OWL-QN where l1 > 0); hybrid (sgd, then lbfgs); "
        "working-set (for l1 > 0, blocks of columns until the duality gap is small); "
        "auto: lbfgs, hybrid for sparse data with more than 4 rows a column, sgd "
        "when gradients are sent");
  visit("send", p.send,
        "content of an update of sgd. model: a shard's weights after a pass over its "
        "rows, to be averaged; gradient: the gradient of a sampled batch, for one "
        "common step");
  visit("batch_fraction", p.batch_fraction,
        "fraction of the rows that a round samples when gradients are sent");
  visit("learning_rate", p.learning_rate, "learning rate of sgd; 0: found by a search on a sample");
  visit("adaptive", p.adaptive,
        "a learning rate for each feature (Adagrad); models are averaged per "
        "feature, weighted by each shard's accumulated squared gradients");
  visit("average", p.average,
        "keep the mean of the weights over all steps, not the last ones (Polyak "
        "averaging)");
  visit("fit_intercept", p.fit_intercept, "learn an intercept, which l1 and l2 leave alone");
  visit("standardize", p.standardize,
        "penalise weights of features scaled to unit variance; sparse data stays sparse");
  visit("class_weight", p.class_weight,
        "weights of classes: balanced, or by label such as 1:2.5,-1:1 (default: all "
        "1)");
  visit("multi_class", p.multi_class,
        "for more than two classes: softmax, ovr (one against the rest); auto: softmax for "
        "logistic, ovr for svm");
  visit("huber_delta", p.huber_delta,
        "error above which Huber's loss is linear; 0: half the standard deviation of "
        "the labels");
  visit("max_iter", p.max_iter, "most rounds");
  visit("tol", p.tol,
        "stop when five rounds lower the objective by less than this fraction; "
        "working-set: when the duality gap is below this fraction of the objective "
        "of a model without weights");
  visit("slope_tol", p.slope_tol,
        "lbfgs: also stop when no slope of the objective is above this; 0: by tol alone");
  visit("validation_fraction", p.validation_fraction,
        "fraction of the rows to hold out; training stops when their loss stops "
        "falling");
  visit("patience", p.patience, "rounds without a lower held-out loss before stopping");
  visit("history", p.history, "number of vector pairs that lbfgs keeps");
  visit("path", p.path,
        "number of L1 penalties of a path, from the smallest that leaves no weight; "
        "held-out rows choose; 0: no path, one l1");
  visit("path_ratio", p.path_ratio, "last penalty of a path, as a fraction of the first");
  visit("block", p.block, "most columns that working-set solves for at once");
}

// The losses of a kind, the default first.
std::vector<Loss> losses(Kind kind);

// Fills in what depends on the kind. THROWS Error(kUsage) naming the parameter and what is allowed.
Parameters settled(Kind kind, Parameters parameters);

Json to_json(const Parameters& parameters);
// THROWS Error(kInput) for a value of the wrong type.
Parameters parameters_from_json(const Json& json);

}  // namespace meanwhile::learn::linear
