#include "meanwhile/learn/linear/trained.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"

namespace meanwhile::learn::linear {

namespace {

constexpr std::size_t kLargest = 20;  // weights that describe() lists

}  // namespace

LinearModel::LinearModel(linear::Model model)
    : model_(std::move(model)), columns_{model_.cols, model_.feature_names} {}

Predictions LinearModel::predict(const data::Dataset& data, base::Threads threads) const {
  return {linear::predict(model_, data, threads), model_.class_names};
}

std::vector<std::string> LinearModel::classes() const {
  std::vector<std::string> labels;
  for (std::size_t k = 0; k < model_.classes.size(); ++k) labels.push_back(model_.class_label(k));
  return labels;
}

void LinearModel::probabilities(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                                base::Threads threads, std::span<double> values) const {
  if (model_.kind != Kind::kLogistic) {
    throw base::Error(base::ErrorKind::kUsage,
                      "{}: {} gives none; 'train logistic' does, and 'transform' writes the "
                      "margins of this model",
                      base::parameter("probabilities"), to_string(model_.kind));
  }
  const std::size_t C = model_.outputs, K = model_.classes.size();
  std::vector<double> z(static_cast<std::size_t>(end - begin) * C);
  margins(model_, data, begin, end, threads, z);
  for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); ++i) {
    linear::probabilities(model_, std::span(z).subspan(i * C, C), values.subspan(i * K, K));
  }
}

std::int64_t LinearModel::transformed_cols() const {
  return static_cast<std::int64_t>(model_.outputs);
}

void LinearModel::transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                            base::Threads threads, std::span<double> values) const {
  margins(model_, data, begin, end, threads, values);
}

Json LinearModel::evaluate(const data::Dataset& data, base::Threads threads,
                           const Measuring&) const {
  return linear::evaluate(model_, data, threads);
}

Json LinearModel::describe() const {
  const std::size_t C = model_.outputs, features = model_.w.size() - C;
  const auto nonzero = std::count_if(model_.w.begin(), model_.w.end() - static_cast<int>(C),
                                     [](double w) { return w != 0; });
  Json json = {{"columns", model_.cols}, {"nonzero_weights", nonzero}};
  if (!model_.classes.empty()) json["classes"] = classes();
  json["intercept"] =
      std::vector<double>(model_.w.begin() + static_cast<std::ptrdiff_t>(features), model_.w.end());
  std::vector<std::size_t> order(features);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min(kLargest, features);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const double x = std::abs(model_.w[a]), y = std::abs(model_.w[b]);
                      return x != y ? x > y : a < b;
                    });
  Json largest = Json::array();
  for (std::size_t i = 0; i < shown && model_.w[order[i]] != 0; ++i) {
    Json entry = {{"weight", model_.w[order[i]]},
                  {"of", model_.feature_name(static_cast<std::int64_t>(order[i] / C))}};
    if (C > 1) entry["for"] = model_.class_label(order[i] % C);
    largest.push_back(entry);
  }
  json["largest_weights"] = largest;
  return json;
}

}  // namespace meanwhile::learn::linear
