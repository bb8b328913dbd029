#include "meanwhile/data/files/text_column.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/document_rows.h"
#include "meanwhile/data/text/stop_words.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

const Column* text_column_of(const TableSchema& schema) {
  const auto found =
      std::find_if(schema.columns.begin(), schema.columns.end(), [](const Column& column) {
        return column.role == ColumnRole::kFeature && column.kind == ColumnKind::kText;
      });
  return found == schema.columns.end() ? nullptr : &*found;
}

// The column that a model's text was in: by its name, or by its place.
std::string trained_column(const TableSchema& schema, const Column& column,
                           const std::vector<std::string>& names, std::size_t fields) {
  if (!column.name.empty()) return column.name;
  const auto at = static_cast<std::size_t>(&column - schema.columns.data());
  if (fields == schema.columns.size() || names.empty()) return std::to_string(at);
  throw Error(ErrorKind::kInput, "found {} columns, expected {} as in training", fields,
              schema.columns.size());
}

template <class T>
class TextColumnFormat : public TextFormat<T> {
 public:
  TextColumnFormat(TextColumnFiles files, const ReadOptions& options)
      : files_(std::move(files)),
        vocabulary_(options.vocabulary),
        ngrams_(options.words.ngrams),
        rows_(std::make_shared<const DocumentRows<T>>(
            *vocabulary_, stop_words(options.words.stop_words), ngrams_)) {}

  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override {
    return std::make_shared<DocumentParser<T>>(rows_, files_.open(source));
  }
  RowsDescription description() const override {
    auto table = std::make_shared<TableSchema>(*files_.columns);
    table->ngrams = ngrams_;
    for (Column& column : table->columns) {
      if (column.kind == ColumnKind::kText) column.levels = vocabulary_->words();
    }
    return {vocabulary_->size(), vocabulary_->words(), std::move(table), {}};
  }

 private:
  const TextColumnFiles files_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  const int ngrams_;
  const std::shared_ptr<const DocumentRows<T>> rows_;
};

}  // namespace

bool has_text_column(const ReadOptions& options) {
  return !options.text_column.empty() ||
         (options.schema && text_column_of(*options.schema) != nullptr);
}

std::vector<ColumnRole> text_roles(const std::vector<std::string>& names, std::size_t fields,
                                   const ReadOptions& options) {
  std::vector<ColumnRole> roles(fields, ColumnRole::kIgnored);
  const auto give = [&](const char* parameter, const std::string& given, ColumnRole role) {
    if (given.empty()) return;
    ColumnRole& old = roles[find_column(base::parameter(parameter), given, names, fields)];
    if (old != ColumnRole::kIgnored) {
      throw Error(ErrorKind::kUsage, "{} {}: the column has another use already",
                  base::parameter(parameter), given);
    }
    old = role;
  };
  std::string text = options.text_column, label = options.label_column,
              weight = options.weight_column;
  if (options.schema) {
    const TableSchema& schema = *options.schema;
    if (text.empty()) text = trained_column(schema, *text_column_of(schema), names, fields);
    const auto known = [&](const Column* column) {
      return column != nullptr && !column->name.empty() &&
                     std::find(names.begin(), names.end(), column->name) != names.end()
                 ? column->name
                 : std::string();
    };
    if (label.empty()) label = known(column_with(schema, ColumnRole::kLabel));
    if (weight.empty()) weight = known(column_with(schema, ColumnRole::kWeight));
  }
  give("text_column", text, ColumnRole::kFeature);
  if (!options.want_labels) return roles;
  give("label_column", label, ColumnRole::kLabel);
  give("weight_column", weight, ColumnRole::kWeight);
  return roles;
}

template <class T>
std::unique_ptr<TextFormat<T>> text_column_format(TextColumnFiles files,
                                                  const ReadOptions& options) {
  return std::make_unique<TextColumnFormat<T>>(std::move(files), options);
}

template std::unique_ptr<TextFormat<float>> text_column_format(TextColumnFiles, const ReadOptions&);
template std::unique_ptr<TextFormat<double>> text_column_format(TextColumnFiles,
                                                                const ReadOptions&);

}  // namespace meanwhile::data
