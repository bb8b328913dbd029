#include "meanwhile/learn/answers.h"

#include <algorithm>
#include <limits>

#include "meanwhile/learn/model_tables.h"

namespace meanwhile::learn {

namespace {

// A model without names of its own gives margins: one, or one for each class.
std::vector<std::string> margins_of(const Model& model) {
  if (model.transformed_cols() == 1) return {"margin"};
  std::vector<std::string> names;
  for (const std::string& label : model.classes()) names.push_back("margin_" + label);
  if (std::ssize(names) == model.transformed_cols()) return names;
  return numbered_names("margin", model.transformed_cols());
}

}  // namespace

Answers::Answers(const Model& model, Ask ask, const std::string& prefix)
    : model_(model),
      labels_(ask == Ask::kLabelsAndProbabilities || (ask == Ask::kLabels && model.has_labels())),
      probabilities_(ask == Ask::kLabelsAndProbabilities || ask == Ask::kProbabilities) {
  if (probabilities_) {
    model.probabilities({}, 0, 0, 1, {});  // says why there are none
    for (const std::string& label : model.classes()) names_.push_back("probability_" + label);
  }
  const auto* const tables = dynamic_cast<const ModelTables*>(&model);
  if (labels_) {
    names_.insert(names_.begin(), tables == nullptr ? "prediction" : tables->label_name());
  }
  if (names_.empty()) names_ = tables == nullptr ? margins_of(model) : tables->transformed_names();
  for (std::string& name : names_) name = prefix + name;
}

Predictions Answers::labels(const data::Dataset& data, base::Threads threads) const {
  return labels_ ? model_.predict(data, threads) : Predictions{};
}

void Answers::block(const data::Dataset& data, const Predictions& labels, std::int64_t begin,
                    std::int64_t end, base::Threads threads, std::vector<double>& values) const {
  const auto rows = static_cast<std::size_t>(end - begin);
  const std::size_t width = names_.size(), first = labels_ ? 1 : 0, others = width - first;
  values.resize(rows * width);
  if (others > 0) {
    std::vector<double> apart(labels_ ? rows * others : 0);
    const std::span<double> to = labels_ ? std::span(apart) : std::span(values);
    if (probabilities_) {
      model_.probabilities(data, begin, end, threads, to);
    } else {
      model_.transform(data, begin, end, threads, to);
    }
    for (std::size_t i = 0; labels_ && i < rows; ++i) {
      std::copy_n(apart.data() + i * others, others, values.data() + i * width + 1);
    }
  }
  for (std::size_t i = 0; labels_ && i < rows; ++i) {
    values[i * width] = labels.values[static_cast<std::size_t>(begin) + i];
  }
  auto lacking = std::lower_bound(data.incomplete.begin(), data.incomplete.end(), begin);
  for (; lacking != data.incomplete.end() && *lacking < end; ++lacking) {
    std::fill_n(values.data() + static_cast<std::size_t>(*lacking - begin) * width, width,
                std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace meanwhile::learn
