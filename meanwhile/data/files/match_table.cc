#include "meanwhile/data/files/match_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kNamesShown = 20;

std::string some_of(const std::vector<std::string>& names) {
  const auto some = std::span(names).first(std::min(names.size(), kNamesShown));
  return list_text(some) + (names.size() > kNamesShown
                                ? fmt::format(" and {} more", names.size() - kNamesShown)
                                : "");
}

std::optional<std::size_t> find(const std::vector<std::string>& names, const std::string& name) {
  const auto count = std::count(names.begin(), names.end(), name);
  if (count > 1) {
    throw Error(ErrorKind::kInput, "{} columns are named '{}', which the model needs", count, name);
  }
  if (count == 0) return std::nullopt;
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// A role that the user names, or that the column of this name had in training.
void give_role(std::vector<TableField>& fields, const std::vector<std::string>& names,
               const char* parameter, const std::string& given, const Column* trained,
               ColumnRole role) {
  std::optional<std::size_t> at;
  if (!given.empty()) {
    at = find_column(base::parameter(parameter), given, names, fields.size());
  } else if (trained != nullptr && !trained->name.empty()) {
    at = find(names, trained->name);
  }
  if (!at) return;
  if (fields[*at].role == ColumnRole::kFeature) {
    throw Error(ErrorKind::kUsage, "{} {}: the model has that column among its features",
                base::parameter(parameter), given);
  }
  fields[*at].role = role;
}

std::vector<TableField> match_names(const TableSchema& schema,
                                    const std::vector<std::string>& names,
                                    const ReadOptions& options) {
  std::vector<TableField> fields(names.size());
  std::vector<std::string> lost;
  std::uint32_t feature = 0;
  for (const Column* column : features(schema)) {
    if (const auto at = find(names, column->name)) {
      fields[*at] = {ColumnRole::kFeature, column->kind, feature};
    } else {
      lost.push_back(column->name);
    }
    ++feature;
  }
  if (!lost.empty()) {
    throw Error(ErrorKind::kInput, "lacks {} of {} columns that are needed: {}; it has {}",
                lost.size(), feature, some_of(lost), some_of(names));
  }
  if (!options.want_labels) return fields;
  give_role(fields, names, "label_column", options.label_column,
            column_with(schema, ColumnRole::kLabel), ColumnRole::kLabel);
  give_role(fields, names, "weight_column", options.weight_column,
            column_with(schema, ColumnRole::kWeight), ColumnRole::kWeight);
  return fields;
}

// Columns in the order of training: all of them, all but the label, or the features alone.
std::vector<const Column*> columns_in_order(const TableSchema& schema, std::size_t fields) {
  std::vector<const Column*> all, unlabelled;
  for (const Column& column : schema.columns) {
    all.push_back(&column);
    if (column.role != ColumnRole::kLabel) unlabelled.push_back(&column);
  }
  const auto only = features(schema);
  for (const auto& columns : {all, unlabelled, only}) {
    if (columns.size() == fields) return columns;
  }
  throw Error(ErrorKind::kInput,
              "found {} columns, expected {}; is one of them a label (`label_column`) or to be "
              "ignored (`ignore_column`)?",
              fields, only.size());
}

std::vector<TableField> match_positions(const TableSchema& schema,
                                        const std::vector<std::string>& names, std::size_t count,
                                        const ReadOptions& options) {
  const bool roles_given = !options.label_column.empty() || !options.weight_column.empty() ||
                           !options.ignore_columns.empty() || !options.columns.empty();
  const auto only = features(schema);
  std::vector<TableField> fields;
  std::uint32_t feature = 0;
  const auto add = [&](ColumnRole role) {
    TableField& field = fields.emplace_back();
    field.role = role;
    if (role == ColumnRole::kFeature && feature < only.size()) {
      field.kind = only[feature]->kind;
      field.feature = feature;
    }
    feature += role == ColumnRole::kFeature;
    const bool of_training = role == ColumnRole::kLabel || role == ColumnRole::kWeight;
    if (of_training && !options.want_labels) field.role = ColumnRole::kIgnored;
  };
  if (roles_given) {
    for (const ColumnRole role : find_roles(options, names, count)) add(role);
  } else {
    for (const Column* column : columns_in_order(schema, count)) add(column->role);
  }
  if (feature != only.size()) {
    throw Error(ErrorKind::kInput, "found {} columns that are features, expected {}", feature,
                only.size());
  }
  return fields;
}

}  // namespace

bool names_features(const TableSchema& schema, const std::vector<std::string>& names) {
  const auto all = features(schema);
  return has_names(schema) && std::all_of(all.begin(), all.end(), [&](const Column* column) {
           return std::find(names.begin(), names.end(), column->name) != names.end();
         });
}

std::vector<TableField> match_fields(const TableSchema& schema,
                                     const std::vector<std::string>& names, std::size_t fields,
                                     const ReadOptions& options) {
  if (!names.empty() && has_names(schema)) return match_names(schema, names, options);
  return match_positions(schema, names, fields, options);
}

}  // namespace meanwhile::data
