#include "meanwhile/learn/linear/model.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/learn/linear/measures.h"
#include "meanwhile/learn/linear/rows.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kBlock = 4096;  // rows

template <class T>
void get(const Json& json, const char* name, T& value) {
  try {
    if (json.contains(name)) json.at(name).get_to(value);
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, "not a linear model: '{}' has the wrong type", name);
  }
}

// Without the columns that are beyond the model's.
template <class T>
RowView<T> clipped(RowView<T> row, std::int64_t cols) {
  if (row.columns == nullptr) return row;
  while (row.size > 0 && row.columns[row.size - 1] >= cols) --row.size;
  return row;
}

}  // namespace

Problem Model::problem() const {
  Problem problem;
  problem.loss = loss;
  problem.softmax = softmax;
  problem.outputs = outputs;
  problem.classes = classes;
  problem.class_names = class_names;
  problem.cols = cols;
  return problem;
}

std::string Model::class_label(std::size_t k) const {
  if (class_names.empty()) return fmt::format("{}", classes[k]);
  return class_names[static_cast<std::size_t>(classes[k])];
}

std::string Model::feature_name(std::int64_t j) const {
  if (feature_names.empty()) return fmt::format("column {}", j + first_column);
  return feature_names[static_cast<std::size_t>(j)];
}

Model load_model(const data::SafetensorsFile& file) {
  Model model;
  model.kind = kind_of(learner_of(file));
  model.parameters = metadata_json(file, "parameters", kWhat);
  const Parameters parameters = settled(model.kind, parameters_from_json(model.parameters));
  const Json about = metadata_json(file, "about", kWhat);
  const Json progress = metadata_json(file, "progress", kWhat);
  get(about, "classes", model.classes);
  get(about, "softmax", model.softmax);
  get(about, "class_names", model.class_names);
  get(about, "feature_names", model.feature_names);
  model.first_column = base::count_or(about, "first_column", 0) == 1 ? 1 : 0;
  model.loss.loss = *parameters.loss;
  get(progress, "delta", model.loss.delta);

  const data::Tensor &weights = file.tensor("weights"), &intercept = file.tensor("intercept");
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kInput, "not a linear model: {}", what);
  };
  if (weights.shape.size() != 2 || weights.shape[0] < 1 || weights.shape[1] < 1) {
    refuse("weights are no matrix");
  }
  if (intercept.shape != std::vector{weights.shape[1]}) refuse("intercepts do not fit the weights");
  model.cols = weights.shape[0];
  model.outputs = static_cast<std::size_t>(weights.shape[1]);
  for (const data::Tensor* tensor : {&weights, &intercept}) {
    const auto values = tensor->as<double>();
    model.w.insert(model.w.end(), values.begin(), values.end());
  }
  if (!std::all_of(model.w.begin(), model.w.end(), [](double w) { return std::isfinite(w); })) {
    refuse("weights hold what is no number");
  }
  const std::size_t K = model.classes.size();
  if ((model.kind == Kind::kLinear) != (K == 0)) refuse("classes do not go with the learner");
  if (model.softmax && (K < 3 || model.kind != Kind::kLogistic)) {
    refuse("softmax is for three classes of logistic, or more");
  }
  if (K == 1 || model.outputs != (K <= 2 ? 1 : K)) refuse("classes do not fit the weights");
  if (!std::is_sorted(model.classes.begin(), model.classes.end()))
    refuse("classes are in disorder");
  for (const double label : model.classes) {
    const bool named = label >= 0 && label < static_cast<double>(model.class_names.size());
    if (!model.class_names.empty() && !named) refuse("a class has no name");
  }
  const auto D = static_cast<std::size_t>(model.cols);
  if (!model.feature_names.empty() && model.feature_names.size() != D) {
    refuse("there are not as many names as columns");
  }
  return model;
}

void margins(const Model& model, const data::Dataset& data, std::int64_t begin, std::int64_t end,
             base::Threads threads, std::span<double> values) {
  const std::size_t C = model.outputs;
  const double* intercept = model.w.data() + static_cast<std::size_t>(model.cols) * C;
  base::ThreadPool pool(threads);
  pool.run((end - begin + kBlock - 1) / kBlock, [&](std::int64_t task, int) {
    const std::int64_t first = begin + task * kBlock, last = std::min(first + kBlock, end);
    std::visit(
        [&](const auto& m) {
          for (std::int64_t row = first; row < last; ++row) {
            double* z = values.data() + static_cast<std::size_t>(row - begin) * C;
            const auto r = clipped(view(m, row), model.cols);
            if (C == 1) {
              z[0] = dot(r, model.w.data()) + intercept[0];
            } else {
              std::copy_n(intercept, C, z);
              dot(r, model.w.data(), C, z);
            }
          }
        },
        data.x);
    if (data.mapped) data::release_rows(data.x, {first, last});
  });
}

std::vector<double> predict(const Model& model, const data::Dataset& data, base::Threads threads) {
  const std::int64_t rows = data::rows(data.x);
  const std::size_t C = model.outputs, N = static_cast<std::size_t>(rows);
  std::vector<double> z(N * C);
  margins(model, data, 0, rows, threads, z);
  if (model.classes.empty()) return z;
  std::vector<double> labels(N);
  for (std::size_t i = 0; i < N; ++i) {
    const double* at = z.data() + i * C;
    const std::size_t k =
        C == 1 ? at[0] > 0 : static_cast<std::size_t>(std::max_element(at, at + C) - at);
    labels[i] = model.classes[k];
  }
  return labels;
}

void probabilities(const Model& model, std::span<const double> margins, std::span<double> p) {
  const auto sigmoid = [](double z) {
    const double e = std::exp(-std::abs(z));
    return z > 0 ? 1 / (1 + e) : e / (1 + e);
  };
  if (model.outputs == 1) {
    const double z = margins[0], e = std::exp(-std::abs(z));
    p[z > 0 ? 1 : 0] = 1 / (1 + e);
    p[z > 0 ? 0 : 1] = e / (1 + e);
    return;
  }
  std::copy(margins.begin(), margins.end(), p.begin());
  double sum = 0;
  const double largest = *std::max_element(p.begin(), p.end());
  for (double& value : p) {
    value = model.softmax ? std::exp(value - largest) : sigmoid(value);
    sum += value;
  }
  // One against the rest, and all say no: nothing is known of this row.
  for (double& value : p) value = sum > 0 ? value / sum : 1 / static_cast<double>(p.size());
}

Json evaluate(const Model& model, const data::Dataset& data, base::Threads threads) {
  if (data.labels.empty()) {
    throw Error(
        ErrorKind::kInput,
        "the data has no labels to compare with; in CSV, `label_column` names their column");
  }
  const std::int64_t rows = data::rows(data.x);
  std::vector<double> z(static_cast<std::size_t>(rows) * model.outputs);
  margins(model, data, 0, rows, threads, z);
  double penalty = 0;
  const Parameters parameters = parameters_from_json(model.parameters);
  for (std::size_t i = 0; i < static_cast<std::size_t>(model.cols) * model.outputs; ++i) {
    penalty += parameters.l1 * std::abs(model.w[i]) + 0.5 * parameters.l2 * model.w[i] * model.w[i];
  }
  Json json = measure(model, z, class_numbers(model, data), data.weights, threads);
  // The penalty of standardised weights is that of other data's scales.
  if (!parameters.standardize) json["objective"] = json["loss"].get<double>() + penalty;
  return json;
}

}  // namespace meanwhile::learn::linear
