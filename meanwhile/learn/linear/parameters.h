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
  visit("l1", p.l1, "penalty l1 * sum |w|: gives weights that are exactly zero");
  visit("l2", p.l2, "penalty l2 / 2 * sum w^2, beside the mean loss of the rows");
  visit("solver", p.solver,
        "sgd; lbfgs (OWL-QN where l1 > 0); hybrid: sgd, then lbfgs; working-set, for l1 > 0: "
        "blocks of "
        "columns until the duality gap is small; auto: lbfgs, hybrid for sparse data with more "
        "than 4 "
        "rows a column, sgd when gradients are sent");
  visit(
      "send", p.send,
      "what a shard sends in a round of sgd. model: the weights after a pass over its rows, to be "
      "averaged; gradient: that of a sampled batch, for one step of all");
  visit("batch_fraction", p.batch_fraction, "of the rows, sampled in a round that sends gradients");
  visit("learning_rate", p.learning_rate, "of sgd; 0: found by a search on a sample");
  visit("adaptive", p.adaptive,
        "a rate for each feature (Adagrad), and an average of models that trusts most who learned "
        "most of a feature; off: one rate and the plain mean");
  visit("average", p.average, "the mean of the steps' weights rather than the last (Polyak)");
  visit("fit_intercept", p.fit_intercept, "learn a constant, which is not penalised");
  visit("standardize", p.standardize,
        "penalise weights of features scaled to unit variance; sparse data stays sparse");
  visit("class_weight", p.class_weight,
        "balanced, or weights by label such as 1:2.5,-1:1; default: every row counts the same");
  visit("multi_class", p.multi_class,
        "for more than two classes: softmax, ovr (one against the rest); auto: softmax for "
        "logistic, ovr for svm");
  visit("huber_delta", p.huber_delta,
        "errors beyond it count linearly; 0: half the standard deviation of the labels");
  visit("max_iter", p.max_iter, "rounds at most");
  visit(
      "tol", p.tol,
      "stop when five rounds lowered the objective by less than this part of it; working-set: when "
      "the duality gap is this part of the objective of a model without weights");
  visit("validation_fraction", p.validation_fraction,
        "of the rows: held out, to stop when their loss no longer falls");
  visit("patience", p.patience, "rounds without a lower held-out loss before stopping");
  visit("history", p.history, "pairs of vectors that lbfgs keeps");
  visit(
      "path", p.path,
      "penalties that working-set goes through instead of one l1, from the smallest that leaves no "
      "weight; held-out rows choose; 0: none");
  visit("path_ratio", p.path_ratio, "the last penalty of a path, as a part of the first");
  visit("block", p.block, "columns that working-set solves for at once, at most");
}

// The losses of a kind, the default first.
std::vector<Loss> losses(Kind kind);

// Fills in what depends on the kind. THROWS Error(kUsage) naming the parameter and what is allowed.
Parameters settled(Kind kind, Parameters parameters);

Json to_json(const Parameters& parameters);
// THROWS Error(kInput) for a value of the wrong type.
Parameters parameters_from_json(const Json& json);

}  // namespace meanwhile::learn::linear
