#include "meanwhile/learn/linear/measures.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/measures/auc.h"
#include "meanwhile/measures/classification.h"
#include "meanwhile/measures/quantiles.h"

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

namespace {

// Quantiles of residuals that are shown, by their keys.
constexpr std::pair<const char*, double> kShares[] = {{"min", 0},   {"p05", 0.05}, {"p25", 0.25},
                                                      {"p50", 0.5}, {"p75", 0.75}, {"p95", 0.95},
                                                      {"max", 1}};

Json measure_numbers(const Problem& problem, std::span<const double> predicted,
                     std::span<const double> labels, std::span<const double> weights) {
  double loss = 0, weight = 0, mean = 0, squared = 0, absolute = 0, label_squared = 0;
  std::vector<double> residuals(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i], y = labels[i];
    double z[] = {predicted[i]};
    weight += w;
    loss += w * problem.loss_and_slopes(z, y);
    residuals[i] = y - predicted[i];
    squared += w * residuals[i] * residuals[i];
    absolute += w * std::abs(residuals[i]);
    const double from_mean = y - mean;  // Welford: no difference of large sums
    if (weight > 0) mean += w / weight * from_mean;
    label_squared += w * from_mean * (y - mean);
  }
  Json json = {{"rows", labels.size()}, {"loss", loss / weight}};
  json["rmse"] = std::sqrt(squared / weight);
  json["mae"] = absolute / weight;
  json["r2"] = label_squared > 0 ? Json(1 - squared / label_squared) : Json();
  std::vector<double> shares;
  for (const auto& [name, share] : kShares) shares.push_back(share);
  const std::vector<double> found = measures::quantiles(residuals, weights, shares);
  Json& quantiles = json["residual_quantiles"] = Json::object();
  for (std::size_t i = 0; i < found.size(); ++i) quantiles[kShares[i].first] = found[i];
  return json;
}

}  // namespace

Json measure(const Model& model, std::span<const double> margins, std::span<const double> labels,
             std::span<const double> weights, base::Threads threads) {
  const Problem problem = model.problem();
  if (model.classes.empty()) return measure_numbers(problem, margins, labels, weights);
  const std::size_t C = model.outputs, K = model.classes.size(), N = labels.size();
  const bool logistic = model.kind == Kind::kLogistic;
  double loss = 0, weight = 0, right = 0, log_loss = 0;
  measures::Confusion confusion(K);
  std::vector<double> z(C), p(K);
  // Probabilities of more than two classes; the margins stand for them where a model has none.
  std::vector<double> scores;
  for (std::size_t i = 0; i < N; ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    const std::span<const double> at = margins.subspan(i * C, C);
    std::copy(at.begin(), at.end(), z.begin());
    weight += w;
    loss += w * problem.loss_and_slopes(z, labels[i]);
    const auto label = static_cast<std::size_t>(labels[i]);
    const std::size_t predicted =
        C == 1 ? at[0] > 0
               : static_cast<std::size_t>(std::max_element(at.begin(), at.end()) - at.begin());
    if (predicted == label) right += w;
    confusion.add(label, predicted, w);
    if (!logistic) continue;
    probabilities(model, at, p);
    log_loss -= w * std::log(std::max(p[label], 1e-300));
    if (C > 1) scores.insert(scores.end(), p.begin(), p.end());
  }
  Json json = {{"rows", N}, {"loss", loss / weight}, {"accuracy", right / weight}};
  if (logistic) json["log_loss"] = log_loss / weight;
  std::vector<double> areas;
  if (C == 1) {
    const double area = measures::auc(margins, labels, weights);
    json["auc"] = std::isnan(area) ? Json() : Json(area);  // null: only one class is there
  } else {
    areas = measures::auc_of_classes(logistic ? scores : margins, K, labels, weights, threads);
  }
  std::vector<std::string> names;
  for (std::size_t k = 0; k < K; ++k) names.push_back(model.class_label(k));
  measures::add_classification(confusion, names, areas, json);
  return json;
}

}  // namespace meanwhile::learn::linear
