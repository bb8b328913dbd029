#include "meanwhile/learn/linear/fit.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/chunks.h"
#include "meanwhile/learn/linear/class_weights.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

Fit::Fit(Kind asked, Parameters given) : kind(asked), parameters(settled(asked, std::move(given))) {
  moments.each = parameters.fit_intercept || parameters.standardize ? 2 : 1;
}

bool Fit::uses_moments() const {
  return parameters.solver == Solver::kLbfgs || parameters.solver == Solver::kHybrid ||
         parameters.solver == Solver::kWorkingSet || parameters.standardize || dense ||
         parameters.l1 > 0 ||
         (parameters.solver == Solver::kAuto && parameters.send == Send::kModel);
}

void Fit::attach(const Attachment& attachment) {
  job = attachment;
  if (job.pool == nullptr) {
    own_pool_ = std::make_unique<base::ThreadPool>(1);
    job.pool = own_pool_.get();
  }
  dense = !data::is_sparse(job.part->data.x);
  settle_problem();
  if (parameters.solver == Solver::kWorkingSet && problem.outputs > 1) {
    throw Error(ErrorKind::kUsage,
                "solver is working-set, which is for two classes, and the data has {}; lbfgs takes "
                "more",
                problem.classes.size());
  }
  feature_names = job.part->data.feature_names;
  counts_from_one = job.part->data.counts_from_one;
  examples = std::make_unique<Examples>(*job.part, problem);
  examples->end_at(job.stop);
  if (job.release) examples->release_after_use();
  examples->hold_out(parameters.validation_fraction, job.seed, job.part->deal, *job.pool);
  if (job.eval != nullptr) {
    if (parameters.validation_fraction > 0) {
      throw Error(ErrorKind::kUsage,
                  "`eval` names rows to hold out, and `validation_fraction` takes some of the "
                  "data; give one of them");
    }
    if (data::cols(job.eval->data.x) != problem.cols || !job.eval->labelled) {
      throw Error(ErrorKind::kInput, "`eval`: {}{}, but the data has {}",
                  base::counted(data::cols(job.eval->data.x), "column"),
                  job.eval->labelled ? "" : " and no labels", problem.cols);
    }
    eval = std::make_unique<Examples>(*job.eval, problem);
    if (job.release && job.eval->data.mapped) eval->release_after_use();
  }
  busy_shards = 0;
  for (const data::Shard& one : job.part->shards) busy_shards += one.rows > 0;
  if (w.empty()) w.assign(problem.size(), 0.0);
  if (w.size() != problem.size()) {
    throw Error(ErrorKind::kInput, "the model has {}, but data and parameters ask for {}",
                base::counted(w.size(), "weight"), problem.size());
  }
  if (progress.stage == StageName::kStatistics) return;
  settle_weights();
  settle_coordinates();
}

void Fit::settle_problem() {
  const data::Part& part = *job.part;
  if (!part.labelled) {
    throw Error(ErrorKind::kInput,
                "the data has no labels; in CSV, `label_column` names their column");
  }
  problem.cols = data::cols(part.data.x);
  problem.intercept = parameters.fit_intercept;
  problem.loss.loss = *parameters.loss;
  problem.loss.delta = progress.delta;
  problem.loss.smoothing = progress.stage == StageName::kLbfgs ? progress.smoothing : 0;
  if (kind == Kind::kLinear) {
    if (part.data.class_names.empty()) return;
    throw Error(ErrorKind::kInput,
                "the labels are words ('{}'), and 'train linear' predicts numbers; for classes, "
                "use 'train logistic' or 'train svm'",
                part.data.class_names.front());
  }
  if (part.label_values.empty()) {
    throw Error(
        ErrorKind::kInput,
        "more than {} different labels: are these classes? For numbers to be predicted, use "
        "'train linear'",
        data::kMaxLabelValues);
  }
  problem.classes = part.label_values;
  problem.class_names = part.data.class_names;
  if (!initial_classes.empty()) {
    // A model that goes on with other data may not see all of its classes there.
    problem.classes = initial_classes;
    problem.class_names = initial_names;
    for (const double label : part.label_values) problem.class_number(label, part.data);
  }
  const std::size_t classes = problem.classes.size();
  if (classes < 2) {
    const std::string label = problem.class_names.empty()
                                  ? fmt::format("{}", problem.classes.front())
                                  : fmt::format("'{}'", problem.class_names.front());
    throw Error(ErrorKind::kInput, "every label is {}: a classifier needs at least two classes",
                label);
  }
  problem.outputs = classes == 2 ? 1 : classes;
  problem.softmax =
      classes > 2 && kind == Kind::kLogistic && parameters.multi_class != MultiClass::kOvr;
  if (!parameters.class_weight.named()) {
    problem.class_weights =
        parse_class_weights(parameters.class_weight.text(), problem.classes, problem.class_names);
  }
}

void Fit::settle_weights() {
  const std::size_t K = problem.classes.size();
  double weight = progress.weight;
  if (parameters.class_weight == ClassWeight::kBalanced) {
    problem.class_weights.assign(K, 1.0);
    for (std::size_t k = 0; k < K; ++k) {
      if (class_sums[k] > 0) {
        problem.class_weights[k] = weight / (static_cast<double>(K) * class_sums[k]);
      }
    }
  }
  if (!problem.class_weights.empty()) {
    weight = 0;
    for (std::size_t k = 0; k < K; ++k) weight += class_sums[k] * problem.class_weights[k];
  }
  progress.mean_weight = weight / progress.rows;
  if (!(weight > 0)) {
    throw Error(ErrorKind::kUsage, "class_weight: every row to learn from gets a weight of 0");
  }
}

void Fit::settle_coordinates() {
  coordinates = {};
  if (moments.values.empty() || !(dense || parameters.standardize)) return;
  const std::size_t D = static_cast<std::size_t>(problem.cols);
  coordinates.scale.resize(D);
  const bool centred = dense && problem.intercept;
  if (centred) coordinates.mean.resize(D);
  for (std::size_t j = 0; j < D; ++j) {
    if (centred) coordinates.mean[j] = moments.mean(j);
    const double centre = centred ? moments.mean(j) * moments.mean(j) : 0;
    const double deviation = std::sqrt(std::max(0.0, moments.second(j) - centre));
    // A column that never changes has nothing to be scaled by.
    const bool constant = deviation <= 1e-8 * std::sqrt(moments.second(j)) || deviation == 0;
    coordinates.scale[j] = constant ? 1 : 1 / deviation;
  }
  if (!dense) return;
  coordinates.penalty.resize(D);
  for (std::size_t j = 0; j < D; ++j) {
    coordinates.penalty[j] = penalty_of(j) * coordinates.scale[j];
  }
}

double Fit::penalty_of(std::size_t column) const {
  if (!parameters.standardize) return 1;
  return std::sqrt(
      std::max(0.0, moments.second(column) - moments.mean(column) * moments.mean(column)));
}

double Fit::penalty() const {
  double constants = 0;
  for (std::size_t i = problem.intercepts(); i < w.size(); ++i) constants += w[i] * w[i];
  const double weights = sum(*job.pool, problem.intercepts(), [&](std::size_t i) {
    const double penalised = w[i] * penalty_of(i / problem.outputs);
    return l1() * std::abs(penalised) + 0.5 * parameters.l2 * penalised * penalised;
  });
  return weights + 0.5 * parameters.l2_intercept * constants;
}

SgdOptions Fit::sgd_options() const {
  SgdOptions options;
  options.l1 = parameters.l1;
  options.l2 = parameters.l2;
  // Each of the busy shards takes steps S times as long as one that had all rows to itself would:
  // the mean divides them again. So the rate falls as 1 / (l2 t) of rows seen by all, as Pegasos
  // has it, and what it began with soon does not matter.
  const double shards = std::max(1, busy_shards);
  const double seen = progress.seen + ahead * progress.rows;
  const double past = 1 + progress.rate / shards * parameters.l2 * seen;
  options.rate = progress.rate / past;
  options.decay = progress.rate * parameters.l2 / past;
  if (parameters.adaptive) options.rate = progress.rate, options.decay = 0;
  options.mean_weight = progress.mean_weight;
  // Weights that a user gave to rows dealt in blocks have always been steps of that length.
  if (job.part->deal == data::Deal::kContent) options.heavy = 2;
  options.adaptive = parameters.adaptive;
  options.average = parameters.average;
  options.seed = job.seed;
  options.round = static_cast<std::uint32_t>(progress.round + ahead);
  return options;
}

exchange::Block Fit::columns_block(std::size_t width, double fraction) const {
  const auto numbers = static_cast<std::int64_t>(width);
  if (dense) return {.rows = problem.cols, .width = numbers};
  const auto shards = static_cast<double>(std::max<std::size_t>(1, job.part->shards.size()));
  return rows_block(problem.cols, numbers,
                    fraction * static_cast<double>(job.part->stored) / shards);
}

StageName training_stage(const Fit& fit, const Shape& shape) {
  const Parameters& p = fit.parameters;
  if (p.send == Send::kGradient) return StageName::kGradient;
  if (p.solver == Solver::kWorkingSet) return StageName::kWorkingSet;
  const bool many_rows = shape.sparse && static_cast<double>(shape.rows) >
                                             kRowsForAveraging * static_cast<double>(shape.cols);
  const bool newton = p.solver != Solver::kSgd && (p.solver != Solver::kAuto || !many_rows ||
                                                   fit.progress.stage == StageName::kLbfgs);
  return newton ? StageName::kLbfgs : StageName::kModel;
}

}  // namespace meanwhile::learn::linear
