// A job of SGD as a file, and back; its cost. What is read is checked here, so that no file can
// lead the rounds that follow out of bounds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/factorize/sgd.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::factorize {

namespace {

constexpr char kSgdState[] = "a state of factorize";
// Shards of a run whose data is not read yet: the default of small data (data/deal.h).
constexpr std::int64_t kUsualShards = 8;

[[noreturn]] void refuse_sgd(const char* what) {
  throw base::Error(base::ErrorKind::kInput, "not {}: {}", kSgdState, what);
}

}  // namespace

std::int64_t Sgd::rounds_left() const {
  if (ended_.ending == Ending::kConverged) return 0;
  const std::int64_t steps = shards_ > 0 ? shards_ : kUsualShards;
  return std::max<std::int64_t>(0, (parameters_.max_iter - pass_) * steps - step_);
}

Cost Sgd::cost(const Shape& shape) const {
  const double steps = static_cast<double>(shards_ > 0 ? shards_ : kUsualShards);
  const auto ratings = static_cast<double>(shape.stored), k = static_cast<double>(width_);
  const double row_bytes = 4 * (static_cast<double>(parameters_.n_factors) + 2);
  return {.flops = 10 * k * ratings / steps,
          .bytes_read = 8 * ratings / steps,
          .update_bytes = row_bytes * static_cast<double>(shape.cols) / steps,
          .absorb_bytes = 2 * row_bytes * static_cast<double>(shape.cols),
          .kernel = "factorize.sgd",
          .outputs = k};
}

State Sgd::state() const {
  State state;
  trained_.put(state);
  state.parameters = to_json(parameters_);
  state.progress = {
      {"stage", to_string(stage_)}, {"pass", pass_},  {"step", step_},   {"shards", shards_},
      {"ratings", ratings_total_},  {"mean", mean_},  {"scale", scale_}, {"errors", errors_},
      {"before", before_},          {"ended", ended_}};
  if (stage_ == SgdStage::kCount) return state;
  const std::size_t items = counts_.size(), factors = trained_.n_factors, stored = factors + 2;
  shown_.resize(items * stored);
  for (std::size_t i = 0; i < items; ++i) {
    const std::size_t place = places_.place(i);
    float* const to = &shown_[i * stored];
    std::copy_n(&item_factors_[place * width_], factors, to);
    to[factors] = item_rows_[place].bias;
    to[factors + 1] = item_rows_[place].squares;
    for (std::size_t f = 0; f < stored; ++f) to[f] += 0.0F;  // sums of updates have no -0
  }
  const auto rows = static_cast<std::int64_t>(items);
  state.carried["items"] =
      data::tensor_of<float>(shown_, {rows, static_cast<std::int64_t>(stored)});
  state.carried["counts"] = data::tensor_of<std::int64_t>(counts_, {rows});
  return state;
}

void Sgd::restore(const data::SafetensorsFile& file) {
  if (learner_of(file) != name()) refuse_sgd("another learner made it");
  const Json progress = metadata_json(file, "progress", kSgdState);
  const Json named = base::member_or_null(progress, "stage");
  const auto stage = find_choice<SgdStage>(named.is_string() ? named.get<std::string>() : "");
  if (!stage) refuse_sgd("its stage is unknown; another solver may have made it");
  Trained trained = Trained::of_file(file);
  if (trained.n_factors != trained_.n_factors || trained.biased != trained_.biased) {
    refuse_sgd("its factors are not those of its parameters");
  }
  stage_ = *stage;
  trained_ = std::move(trained);
  pass_ = base::count_or(progress, "pass", -1);
  step_ = base::count_or(progress, "step", -1);
  shards_ = base::count_or(progress, "shards", 0);
  ratings_total_ = base::number_or(progress, "ratings", 0);
  mean_ = base::number_or(progress, "mean", 0);
  scale_ = base::number_or(progress, "scale", 0);
  errors_ = base::number_or(progress, "errors", 0);
  before_ = base::number_or(progress, "before", -1);
  ended_ = {};
  if (stage_ == SgdStage::kGather) {
    const Json ended = base::member_or_null(progress, "ended");
    if (!ended.is_string()) refuse_sgd("it does not say whether it ends");
    ended_ = ended_from_text(ended.get<std::string>());
  }
  if (stage_ == SgdStage::kCount) return;
  const bool fine = pass_ >= 0 && pass_ < std::numeric_limits<std::int32_t>::max() && step_ >= 0 &&
                    shards_ > 0 && step_ < shards_ && ratings_total_ > 0 && std::isfinite(mean_) &&
                    scale_ > 0 && std::isfinite(scale_) && std::isfinite(errors_);
  if (!fine) refuse_sgd("a number of its progress is out of range");
  const auto counts = file.tensor("carried/counts").as<std::int64_t>();
  const data::Tensor& items = file.tensor("carried/items");
  const auto values = items.as<float>();
  const auto stored = static_cast<std::int64_t>(trained_.n_factors) + 2;
  if (std::ssize(counts) != trained_.items() ||
      items.shape != std::vector<std::int64_t>{trained_.items(), stored}) {
    refuse_sgd("its tensors differ in length");
  }
  for (const float value : values) {
    if (!std::isfinite(value)) refuse_sgd("a factor is no number");
  }
  counts_.assign(counts.begin(), counts.end());
  restored_items_.assign(values.begin(), values.end());
}

}  // namespace meanwhile::learn::factorize
