// What a shard does in each round. The rounds, in order:
//
//   statistics   sums that fix weights of classes, scales of columns and of labels
//   rate         passes over samples, or a few steps on their gradients, with several learning
//                rates (when none was given)
//   model        SGD: a pass over the shard; models are averaged
//   gradient     SGD: the gradient of a sample; one step of all
//   lbfgs        value and gradient at the next point
//   score        the objective of the final model, where no round before has it
//
// Updates (P = (D + 1) C weights):
//
//   statistics   rows, weight, labels, labels^2, norms^2 | weight by class | second (and first)
//   moments rate         loss and weight of the later half of a pass, or after the steps, by rate
//   model        weights - shrink * weights before (P) | shrink, shards | tail
//   model, adaptive rates:   squares gained * move (P) | squares gained (P) | shards | tail
//   gradient, lbfgs   gradient (P) | tail
//   score        tail
//
// What no row touched is exactly zero in all of them, so that wide models travel as what changed.
#include "meanwhile/learn/linear/linear.h"

#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/tail.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

namespace {

constexpr const char* kStages[] = {"statistics", "rate", "model", "gradient", "lbfgs", "score"};

// "1:2.5,-1:1" as weights of `classes`; `names` where labels are words.
std::vector<double> parse_class_weights(const std::string& text, const std::vector<double>& classes,
                                        const std::vector<std::string>& names) {
  std::vector<double> weights(classes.size(), 1.0);
  const auto label = [&](std::size_t k) {
    const auto index = static_cast<std::size_t>(classes[k]);
    return names.empty() ? fmt::format("{}", classes[k]) : names[index];
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    const std::size_t colon = item.rfind(':');
    const std::string name = item.substr(0, colon);
    std::size_t k = 0;
    while (k < classes.size() && label(k) != name) ++k;
    char* rest = nullptr;
    const std::string number = colon == std::string::npos ? "" : item.substr(colon + 1);
    const double weight = std::strtod(number.c_str(), &rest);
    if (k == classes.size() || number.empty() || *rest != 0 || !(weight >= 0) ||
        !std::isfinite(weight)) {
      throw Error(
          ErrorKind::kUsage,
          "class_weight: found '{}', expected balanced or LABEL:WEIGHT,...; labels are {}{}", item,
          label(0), classes.size() > 1 ? fmt::format(" to {}", label(classes.size() - 1)) : "");
    }
    weights[k] = weight;
    at = end + 1;
  }
  return weights;
}

}  // namespace

Linear::Linear(Kind kind, Parameters parameters)
    : kind_(kind), parameters_(settled(kind, std::move(parameters))) {}

Linear::~Linear() = default;

Stage Linear::stage() const {
  for (int i = 0; i < 6; ++i) {
    if (progress_.stage == kStages[i]) return static_cast<Stage>(i);
  }
  throw Error(ErrorKind::kInput, "not a linear model: its stage is '{}'", progress_.stage);
}

void Linear::enter(Stage stage) {
  progress_.stage = kStages[static_cast<int>(stage)];
  progress_.stage_round = 0;
  progress_.recent.clear();
}

bool Linear::uses_moments() const {
  return parameters_.solver == Solver::kLbfgs || parameters_.solver == Solver::kHybrid ||
         parameters_.standardize || dense_ ||
         (parameters_.solver == Solver::kAuto && parameters_.send == Send::kModel);
}

// All that labels and parameters say; what depends on sums comes with the statistics.
void Linear::settle_problem(const Attachment& job) {
  if (!job.part->labelled) {
    throw Error(ErrorKind::kInput,
                "the data has no labels; in CSV, --label-column says which column they are in");
  }
  problem_.cols = data::cols(job.part->data.x);
  problem_.intercept = parameters_.fit_intercept;
  problem_.loss.loss = *parameters_.loss;
  problem_.loss.delta = progress_.delta;
  problem_.loss.smoothing = stage() == Stage::kLbfgs ? progress_.smoothing : 0;
  if (kind_ == Kind::kLinear) return;
  if (job.part->label_values.empty()) {
    throw Error(
        ErrorKind::kInput,
        "more than {} different labels: are these classes? For numbers to be predicted, use "
        "'train linear'",
        data::kMaxLabelValues);
  }
  problem_.classes.assign(job.part->label_values.begin(), job.part->label_values.end());
  problem_.class_names = job.part->data.class_names;
  if (!initial_classes_.empty()) {
    // A model that goes on with other data may not see all of its classes there.
    problem_.classes = initial_classes_;
    problem_.class_names = initial_names_;
    for (const double label : job.part->label_values) problem_.class_number(label, job.part->data);
  }
  const std::size_t classes = problem_.classes.size();
  if (classes < 2) {
    throw Error(ErrorKind::kInput, "every label is {}: a classifier needs at least two classes",
                problem_.classes.front());
  }
  problem_.outputs = classes == 2 ? 1 : classes;
  problem_.softmax =
      classes > 2 && kind_ == Kind::kLogistic && parameters_.multi_class != MultiClass::kOvr;
  if (!parameters_.class_weight.named()) {
    problem_.class_weights = parse_class_weights(parameters_.class_weight.text(), problem_.classes,
                                                 problem_.class_names);
  }
}

void Linear::attach(const Attachment& attachment) {
  job_ = attachment;
  if (job_.pool == nullptr) {
    own_pool_ = std::make_unique<base::ThreadPool>(1);
    job_.pool = own_pool_.get();
  }
  dense_ = std::visit([](const auto& m) { return !data::kIsSparse<std::decay_t<decltype(m)>>; },
                      job_.part->data.x);
  settle_problem(job_);
  class_names_ = problem_.class_names;
  feature_names_ = job_.part->data.feature_names;
  examples_ = std::make_unique<Examples>(job_.part->data, job_.part->shards, problem_);
  examples_->hold_out(parameters_.validation_fraction, job_.seed);
  if (job_.eval != nullptr) {
    if (data::cols(job_.eval->data.x) != problem_.cols || !job_.eval->labelled) {
      throw Error(ErrorKind::kInput, "--eval: {} columns{}, but the data has {}",
                  data::cols(job_.eval->data.x), job_.eval->labelled ? "" : " and no labels",
                  problem_.cols);
    }
    eval_ = std::make_unique<Examples>(*job_.eval, problem_);
  }
  busy_shards_ = 0;
  for (const data::Shard& shard : job_.part->shards) busy_shards_ += shard.rows > 0;
  if (w_.empty()) w_.assign(problem_.size(), 0.0);
  if (w_.size() != problem_.size()) {
    throw Error(ErrorKind::kInput, "the model has {} weights, but data and parameters ask for {}",
                w_.size(), problem_.size());
  }
  if (stage() == Stage::kStatistics) return;
  settle_weights();
  settle_coordinates();
  if (stage() == Stage::kLbfgs) begin_lbfgs();
  narrow();
}

std::size_t Linear::update_size() const {
  const std::size_t P = problem_.size(), D = static_cast<std::size_t>(problem_.cols);
  switch (stage()) {
    case Stage::kStatistics:
      return kStatisticsHead + problem_.classes.size() + (uses_moments() ? moments_each() * D : 0);
    case Stage::kRate:
      return 2 * kRates;
    case Stage::kModel:
      return (parameters_.adaptive ? 2 * P + 1 : P + 2) + Tail::kSize;
    case Stage::kGradient:
    case Stage::kLbfgs:
      return P + Tail::kSize;
    case Stage::kScore:
      return Tail::kSize;
  }
  return 0;
}

void Linear::work(int shard, std::span<double> update) {
  switch (stage()) {
    case Stage::kStatistics:
      return work_statistics(shard, update);
    case Stage::kRate:
      return work_rate(shard, update);
    case Stage::kModel:
      return work_model(shard, update);
    default:
      return work_gradient(shard, update);
  }
}

void Linear::work_statistics(int shard, std::span<double> update) const {
  const std::size_t D = static_cast<std::size_t>(problem_.cols), K = problem_.classes.size();
  Statistics sums;
  sums.class_weight = update.subspan(kStatisticsHead, K);
  if (uses_moments()) sums.moments = update.subspan(kStatisticsHead + K, moments_each() * D);
  statistics(*examples_, shard, sums);
  const double head[] = {sums.rows, sums.weight, sums.label, sums.label_squared, sums.norm_squared};
  std::copy(std::begin(head), std::end(head), update.begin());
}

SgdOptions Linear::sgd_options() const {
  SgdOptions options;
  options.l1 = parameters_.l1;
  options.l2 = parameters_.l2;
  // Each of the busy shards takes steps S times as long as one that had all rows to itself would:
  // the mean divides them again. So the rate falls as 1 / (l2 t) of rows seen by all, as Pegasos
  // has it, and what it began with soon does not matter.
  const double shards = std::max(1, busy_shards_);
  const double past = 1 + progress_.rate / shards * parameters_.l2 * progress_.seen;
  options.rate = progress_.rate / past;
  options.decay = progress_.rate * parameters_.l2 / past;
  if (parameters_.adaptive) options.rate = progress_.rate, options.decay = 0;
  options.mean_weight = progress_.mean_weight;
  options.adaptive = parameters_.adaptive;
  options.average = parameters_.average;
  options.seed = job_.seed;
  options.round = static_cast<std::uint32_t>(progress_.round);
  return options;
}

LossSums Linear::try_gradients(int shard, double rate) const {
  constexpr std::uint32_t kSteps = 12;
  std::vector<double> w = w_, squares = squares_, gradient(problem_.size());
  const auto rows = static_cast<double>(job_.part->shards[static_cast<std::size_t>(shard)].rows);
  PassOptions options;
  options.fraction = std::min(1.0, static_cast<double>(kRateSample) / std::max(rows, 1.0));
  options.seed = job_.seed;
  for (std::uint32_t t = 1;; ++t) {
    options.round = t;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    const LossSums sums = pass(problem_, *examples_, shard, w, options, gradient);
    if (t > kSteps || sums.weight == 0) return sums;
    gradient_step(gradient, sums.weight, static_cast<double>(t), rate, w, squares);
  }
}

void Linear::work_rate(int shard, std::span<double> update) const {
  if (shard >= kRateShards && job_.part->shards[0].rows > 0) return;
  const auto rate_of = [&](std::size_t k) {
    return progress_.rate * std::pow(kRateStep, static_cast<double>(k) - kRateBelow);
  };
  if (parameters_.send == Send::kGradient) {
    for (std::size_t k = 0; k < kRates; ++k) {
      const LossSums sums = try_gradients(shard, rate_of(k));
      update[2 * k] = sums.loss;
      update[2 * k + 1] = sums.weight;
    }
    return;
  }
  std::vector<double> v = w_;
  coordinates_.enter(problem_, v);
  SgdOptions options = sgd_options();
  options.decay = 0;
  options.most_rows = kRateSample;
  for (std::size_t k = 0; k < kRates; ++k) {
    options.rate = rate_of(k);
    if (options.rate * options.l2 >= 1) continue;
    const SgdResult pass =
        sgd_pass(problem_, *examples_, shard, coordinates_, v, squares_, options);
    update[2 * k] = pass.late_loss;
    update[2 * k + 1] = pass.late_weight;
  }
}

void Linear::score_held_out(int shard, Tail& tail) const {
  const auto add = [&](const Examples& examples, Rows rows) {
    PassOptions options;
    options.rows = rows;
    const LossSums sums = pass(problem_, examples, shard, w_, options, {});
    tail.held_loss += sums.sharp;
    tail.held_weight += sums.weight;
    tail.held_right += sums.right;
  };
  if (eval_ != nullptr) add(*eval_, Rows::kAll);
  if (parameters_.validation_fraction > 0) add(*examples_, Rows::kHeldOut);
}

void Linear::work_model(int shard, std::span<double> update) const {
  const std::size_t P = problem_.size();
  Tail tail;
  score_held_out(shard, tail);
  std::vector<double> entered;
  std::span<const double> v = w_;
  if (!coordinates_.scale.empty()) {
    entered = w_;
    coordinates_.enter(problem_, entered);
    v = entered;
  }
  const SgdResult pass =
      sgd_pass(problem_, *examples_, shard, coordinates_, v, squares_, sgd_options());
  tail.loss = tail.sharp = pass.loss;
  tail.weight = pass.weight;
  tail.rows = pass.rows;
  tail.put(update);
  if (pass.rows == 0) return;
  if (parameters_.adaptive) {
    for (std::size_t i = 0; i < P; ++i) {
      // Passes over sparse rows keep squares as floats.
      const double had =
          dense_ ? squares_[i] : static_cast<double>(static_cast<float>(squares_[i]));
      const double gained = pass.squares[i] - had;
      update[i] = gained * (pass.v[i] - v[i]);
      update[P + i] = gained;
    }
    update[2 * P] = 1;
    return;
  }
  const std::size_t features = problem_.intercepts();
  for (std::size_t i = 0; i < features; ++i) update[i] = pass.v[i] - pass.shrink * v[i];
  for (std::size_t i = features; i < P; ++i) update[i] = pass.v[i] - v[i];
  update[P] = pass.shrink;
  update[P + 1] = 1;
}

// Also of L-BFGS, and of the score.
void Linear::work_gradient(int shard, std::span<double> update) const {
  Tail tail;
  score_held_out(shard, tail);
  PassOptions options;
  const bool sampled = stage() == Stage::kGradient;
  options.fraction = sampled ? parameters_.batch_fraction : 1;
  options.seed = job_.seed;
  options.round = static_cast<std::uint32_t>(progress_.round);
  options.narrow = narrow_;
  const std::span<double> gradient =
      stage() == Stage::kScore ? std::span<double>() : update.first(problem_.size());
  const LossSums sums = pass(problem_, *examples_, shard, w_, options, gradient);
  tail.loss = sums.loss;
  tail.sharp = sums.sharp;
  tail.weight = sums.weight;
  tail.rows = sums.rows;
  tail.put(update);
}

std::int64_t Linear::rounds_left() const {
  return std::max<std::int64_t>(0, parameters_.max_iter - progress_.round);
}

}  // namespace meanwhile::learn::linear
