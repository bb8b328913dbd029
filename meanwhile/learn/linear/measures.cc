#include "meanwhile/learn/linear/measures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

std::vector<double> class_numbers(const Model& model, const data::Dataset& data) {
  std::vector<double> numbers(data.labels.begin(), data.labels.end());
  if (model.classes.empty()) return numbers;
  const auto number_of = [&](double label) {
    for (std::size_t k = 0; k < model.classes.size(); ++k) {
      const bool same =
          data.class_names.empty()
              ? model.class_names.empty() && model.classes[k] == label
              : model.class_label(k) == data.class_names[static_cast<std::size_t>(label)];
      if (same) return static_cast<double>(k);
    }
    return -1.0;
  };
  std::vector<std::pair<double, double>> known;  // label and number: few, and in any order
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto found = std::find_if(known.begin(), known.end(),
                              [&](const auto& entry) { return entry.first == numbers[i]; });
    if (found == known.end()) {
      known.emplace_back(numbers[i], number_of(numbers[i]));
      found = known.end() - 1;
    }
    if (found->second < 0) {
      const bool words = !data.class_names.empty();
      throw Error(
          ErrorKind::kInput, "row {}: label {} is none of the model's {} classes ({} to {})", i,
          words ? data.class_names[static_cast<std::size_t>(numbers[i])]
                : fmt::format("{}", numbers[i]),
          model.classes.size(), model.class_label(0), model.class_label(model.classes.size() - 1));
    }
    numbers[i] = found->second;
  }
  return numbers;
}

double auc(std::span<const double> scores, std::span<const double> positive,
           std::span<const double> weights) {
  std::vector<std::size_t> order(scores.size());
  if (std::any_of(scores.begin(), scores.end(), [](double z) { return std::isnan(z); })) {
    return NAN;  // margins that overflowed have no order
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double below = 0, all_positive = 0, area = 0;  // weight of negatives below the present score
  for (std::size_t i = 0; i < order.size();) {
    double negative_tied = 0, positive_tied = 0;
    const double score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      const double weight = weights.empty() ? 1 : weights[order[i]];
      (positive[order[i]] > 0 ? positive_tied : negative_tied) += weight;
    }
    area += positive_tied * (below + negative_tied / 2);
    below += negative_tied;
    all_positive += positive_tied;
  }
  return area / (below * all_positive);
}

Json measure(const Model& model, std::span<const double> margins, std::span<const double> labels,
             std::span<const double> weights) {
  const Problem problem = model.problem();
  const std::size_t C = model.outputs, N = labels.size();
  double loss = 0, weight = 0, right = 0, log_loss = 0;
  double mean = 0, squared = 0, absolute = 0, label_squared = 0;
  std::vector<double> z(C);
  for (std::size_t i = 0; i < N; ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    const double y = labels[i];
    const std::span<const double> at = margins.subspan(i * C, C);
    std::copy(at.begin(), at.end(), z.begin());
    weight += w;
    loss += w * problem.loss_and_slopes(z, y);
    if (model.classes.empty()) {
      const double error = at[0] - y;
      squared += w * error * error;
      absolute += w * std::abs(error);
      const double from_mean = y - mean;  // Welford: no difference of large sums
      if (weight > 0) mean += w / weight * from_mean;
      label_squared += w * from_mean * (y - mean);
      continue;
    }
    const std::size_t predicted =
        C == 1 ? at[0] > 0
               : static_cast<std::size_t>(std::max_element(at.begin(), at.end()) - at.begin());
    if (static_cast<double>(predicted) == y) right += w;
    if (model.kind == Kind::kLogistic) {
      const double p = probabilities(model, at)[static_cast<std::size_t>(y)];
      log_loss -= w * std::log(std::max(p, 1e-300));
    }
  }
  Json json = {{"rows", N}, {"loss", loss / weight}};
  if (model.classes.empty()) {
    json["rmse"] = std::sqrt(squared / weight);
    json["mae"] = absolute / weight;
    json["r2"] = label_squared > 0 ? Json(1 - squared / label_squared) : Json();
    return json;
  }
  json["accuracy"] = right / weight;
  if (model.kind == Kind::kLogistic) json["log_loss"] = log_loss / weight;
  if (C == 1) {
    const double area = auc(margins, labels, weights);
    json["auc"] = std::isnan(area) ? Json() : Json(area);  // null: only one class is there
  }
  return json;
}

}  // namespace meanwhile::learn::linear
