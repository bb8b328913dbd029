#include "meanwhile/exports/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/linear/model.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::exports {

using base::Error;
using base::ErrorKind;

namespace {

// Why a learner's models are no formula of a row.
std::string why_not(const std::string& learner) {
  if (learner == "lda") {
    return "the mixture of a document is found by an iteration over its words, which is no formula "
           "of a row; 'predict' and 'transform' write mixtures, and doc/formats.md reads the model "
           "in Python";
  }
  if (learner == "factorize") {
    return "it answers for pairs of a user and an item; 'recommend' and 'predict' write its "
           "answers, and doc/formats.md reads the model in Python";
  }
  return "it is its own answer, which 'predict' writes, and scores no rows";
}

void add_table(const data::TableSchema& schema, Scorer& scorer) {
  scorer.named = data::has_names(schema);
  scorer.fills = schema.missing != data::Missing::kError && schema.missing != data::Missing::kDrop;
  scorer.normalize = schema.normalize;
  std::size_t number = 0;
  for (const data::Column& column : schema.columns) {
    const std::string name = column.name.empty() ? fmt::format("x{}", number) : column.name;
    ++number;
    scorer.table_names.push_back(name);
    if (column.role != data::ColumnRole::kFeature) continue;
    if (column.kind == data::ColumnKind::kText) {
      throw Error(ErrorKind::kUsage,
                  "column {} is text, and the rules by which its words are counted cannot be "
                  "exported; count the words first ('convert'), and train on the counts",
                  name);
    }
    Cell& cell = scorer.cells.emplace_back();
    cell.name = name;
    cell.kind = column.kind;
    cell.levels = column.levels;
    cell.other = column.other;
    cell.indicator = column.indicator;
    cell.fill = column.fill.value_or(0);
    cell.first = scorer.cols;
    scorer.cols += cell.width();
  }
  for (std::int64_t j = 0; j < schema.unnamed; ++j) {
    scorer.cells.push_back({.name = fmt::format("x{}", j), .first = scorer.cols++});
    scorer.table_names.push_back(scorer.cells.back().name);
  }
  scorer.factors.assign(scorer.cols, 1.0);
  for (std::size_t j = 0; j < schema.scales.size(); ++j) scorer.factors[j] /= schema.scales[j];
  for (std::size_t j = 0; j < schema.idf.size(); ++j) scorer.factors[j] *= schema.idf[j];
}

// Columns of files without a table.
void add_columns(std::int64_t cols, std::int64_t first, const std::vector<std::string>& names,
                 Scorer& scorer) {
  scorer.named = !names.empty();
  scorer.cols = static_cast<std::size_t>(cols);
  scorer.factors.assign(scorer.cols, 1.0);
  for (std::size_t j = 0; j < scorer.cols; ++j) {
    const auto number = static_cast<std::int64_t>(j) + first;
    scorer.cells.push_back(
        {.name = names.empty() ? fmt::format("x{}", number) : names[j], .first = j});
    scorer.table_names.push_back(scorer.cells.back().name);
  }
}

void add_linear(const learn::linear::Model& model, Scorer& scorer) {
  const auto weights = static_cast<std::size_t>(model.cols) * model.outputs;
  scorer.outputs = model.outputs;
  scorer.weights.assign(model.w.begin(), model.w.begin() + static_cast<std::ptrdiff_t>(weights));
  scorer.intercept.assign(model.w.begin() + static_cast<std::ptrdiff_t>(weights), model.w.end());
  scorer.logistic = model.kind == learn::linear::Kind::kLogistic;
  scorer.softmax = model.softmax;
  if (model.classes.empty()) return;
  scorer.task = model.outputs == 1 ? Task::kTwoClasses : Task::kSeveralClasses;
  for (std::size_t k = 0; k < model.classes.size(); ++k) {
    if (model.class_names.empty()) {
      scorer.class_values.push_back(model.classes[k]);
    } else {
      scorer.class_names.push_back(model.class_label(k));
    }
  }
}

void refuse_zero_bytes(const Scorer& scorer) {
  const auto check = [](const std::string& text) {
    if (text.find('\0') == std::string::npos) return;
    throw Error(ErrorKind::kUsage,
                "a name or level of the model holds a zero byte, which no program text can hold");
  };
  for (const Cell& cell : scorer.cells) {
    check(cell.name);
    std::for_each(cell.levels.begin(), cell.levels.end(), check);
  }
  std::for_each(scorer.class_names.begin(), scorer.class_names.end(), check);
}

}  // namespace

bool Scorer::has_words() const {
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.is_word(); });
}

bool Scorer::is_weighed() const {
  return std::any_of(factors.begin(), factors.end(), [](double factor) { return factor != 1; });
}

double Scorer::part(const Cell& cell, const std::vector<double>& values, std::size_t o) const {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t j = cell.first + i;
    const double value = values[i] * factors[j];
    if (task == Task::kClusters) {
      const double difference = value - weights[o * cols + j];
      sum += difference * difference;
    } else {
      sum += value * weights[j * outputs + o];
    }
  }
  return sum;
}

std::vector<std::vector<double>> Scorer::states(const Cell& cell) const {
  const std::size_t levels = cell.levels.size();
  std::vector<std::vector<double>> all(levels + 2, std::vector<double>(cell.width(), 0.0));
  for (std::size_t i = 0; i < levels; ++i) all[i][i] = 1;
  if (cell.other) all[levels][levels] = 1;
  if (cell.indicator) all[levels + 1].back() = 1;
  return all;
}

Scorer scorer_of(const data::SafetensorsFile& file) {
  Scorer scorer;
  scorer.learner = learn::learner_of(file);
  const bool clusters = scorer.learner == "kmeans";
  if (!clusters && scorer.learner != "svm" && scorer.learner != "logistic" &&
      scorer.learner != "linear") {
    throw Error(ErrorKind::kUsage, "a model of {} cannot be exported: {}", scorer.learner,
                why_not(scorer.learner));
  }
  const std::shared_ptr<const data::TableSchema> table = learn::table_of(file);
  if (table) add_table(*table, scorer);
  std::int64_t cols = 0;
  if (clusters) {
    const learn::kmeans::Model model = learn::kmeans::load_model(file);
    cols = model.cols;
    if (!table) add_columns(cols, 0, {}, scorer);
    scorer.task = Task::kClusters;
    scorer.outputs = static_cast<std::size_t>(model.n_clusters);
    scorer.weights = model.centers;
    scorer.cosine = model.metric == learn::kmeans::Metric::kCosine;
  } else {
    const learn::linear::Model model = learn::linear::load_model(file);
    cols = model.cols;
    if (!table) add_columns(cols, model.first_column, model.feature_names, scorer);
    add_linear(model, scorer);
  }
  if (scorer.cols != static_cast<std::size_t>(cols)) {
    throw Error(ErrorKind::kInput, "the model has {} columns, but its table makes {}", cols,
                scorer.cols);
  }
  refuse_zero_bytes(scorer);
  return scorer;
}

}  // namespace meanwhile::exports
