#include <algorithm>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/linear/model.h"
#include "meanwhile/learn/merge_parts.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn {

namespace {

std::vector<std::string> class_labels(const linear::Model& model) {
  std::vector<std::string> labels;
  for (std::size_t k = 0; k < model.classes.size(); ++k) labels.push_back(model.class_label(k));
  return labels;
}

Width width_of(const linear::Model& model) {
  return {model.cols, model.first_column == 1 && model.feature_names.empty()};
}

// Weights of 0 for columns beyond those of the model.
void widen(linear::Model& model, std::int64_t cols) {
  const auto added = static_cast<std::size_t>(cols - model.cols) * model.outputs;
  model.w.insert(model.w.end() - static_cast<std::ptrdiff_t>(model.outputs), added, 0.0);
  model.cols = cols;
}

void check_fits(const MergeInput& one, const linear::Model& first, const MergeInput& other,
                const linear::Model& model) {
  if (model.loss.loss != first.loss.loss) refuse_merge(one, other, "their losses differ");
  check_widths(one, width_of(first), other, width_of(model));
  if (model.feature_names != first.feature_names) {
    refuse_merge(one, other, "their columns have different names");
  }
  auto mine = class_labels(first), theirs = class_labels(model);
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  if (mine != theirs) refuse_merge(one, other, "their classes differ");
  if (model.softmax != first.softmax) {
    refuse_merge(one, other, "one is softmax, the other one against the rest");
  }
}

// Adds `share` of the model's weights, its outputs in the order of the first model's classes.
void add_weights(const linear::Model& first, const linear::Model& model, double share,
                 std::vector<double>& w) {
  const std::size_t C = model.outputs;
  const auto mine = class_labels(first), theirs = class_labels(model);
  if (C == 1) {
    // A margin speaks for the second class.
    const double sign = mine == theirs ? 1 : -1;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += share * sign * model.w[i];
    return;
  }
  for (std::size_t c = 0; c < C; ++c) {
    const auto from =
        static_cast<std::size_t>(std::find(theirs.begin(), theirs.end(), mine[c]) - theirs.begin());
    for (std::size_t i = 0; i * C < w.size(); ++i) w[i * C + c] += share * model.w[i * C + from];
  }
}

}  // namespace

MergedParts merge_linear(std::span<const MergeInput> models) {
  MergedParts merged;
  std::vector<linear::Model> loaded;
  double rows = 0;
  for (const MergeInput& input : models) {
    loaded.push_back(linear::load_model(*input.file));
    check_fits(models.front(), loaded.front(), input, loaded.back());
    const Json progress = metadata_json(*input.file, "progress", linear::kWhat);
    const double weight = base::number_or(progress, "weight", 0);
    if (!(weight > 0)) {
      throw base::Error(base::ErrorKind::kInput,
                        "{}: does not say how many rows it was learned from", input.path.string());
    }
    merged.weights.push_back(weight);
    rows += base::number_or(progress, "rows", 0);
  }
  std::int64_t cols = 0;
  for (const linear::Model& model : loaded) cols = std::max(cols, model.cols);
  for (linear::Model& model : loaded) widen(model, cols);
  const double all = std::accumulate(merged.weights.begin(), merged.weights.end(), 0.0);
  const linear::Model& first = loaded.front();
  std::vector<double> w(first.w.size(), 0.0);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    add_weights(first, loaded[i], merged.weights[i] / all, w);
  }
  const auto C = static_cast<std::int64_t>(first.outputs);
  const auto features = static_cast<std::ptrdiff_t>(first.cols * C);
  merged.tensors["weights"] = {{first.cols, C}, {w.begin(), w.begin() + features}};
  merged.tensors["intercept"] = {{C}, {w.begin() + features, w.end()}};
  merged.parameters = first.parameters;
  merged.progress = {{"rows", rows}, {"weight", all}, {"delta", first.loss.delta}};
  merged.about = metadata_json(*models.front().file, "about", linear::kWhat);
  return merged;
}

}  // namespace meanwhile::learn
