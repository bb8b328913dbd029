#include "meanwhile/data/table/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr std::array<std::string_view, 4> kRoles = {"feature", "label", "weight", "ignored"};
constexpr std::array<std::string_view, 5> kKinds = {"number", "boolean", "date", "category",
                                                    "text"};
constexpr std::array<std::string_view, 5> kMissing = {"error", "drop", "mean", "median",
                                                      "indicator"};

template <class Enum, std::size_t N>
std::string name_of(Enum value, const std::array<std::string_view, N>& names) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(std::string_view name, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorKind::kInput, "the column schema of the model is damaged: {}", what);
}

std::optional<double> number_in(const Json& object, const char* key) {
  const Json& value = base::member_or_null(object, key);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(key);
  return value.get<double>();
}

// One of the names, or `otherwise` where there is no such key.
template <class Enum, std::size_t N>
Enum choice_in(const Json& object, const char* key, std::string_view otherwise,
               const std::array<std::string_view, N>& names) {
  const Json& name = base::member_or_null(object, key);
  const auto value = value_of<Enum>(name.is_string() ? name.get<std::string>()
                                    : name.is_null() ? std::string(otherwise)
                                                     : std::string(),
                                    names);
  if (!value) refuse(key);
  return *value;
}

Column column_from_json(const Json& object) {
  Column column;
  column.name = base::text_or(object, "name", "");
  column.role = choice_in<ColumnRole>(object, "role", "feature", kRoles);
  column.kind = choice_in<ColumnKind>(object, "kind", "number", kKinds);
  if (const Json& levels = base::member_or_null(object, "levels"); !levels.is_null()) {
    auto texts = base::texts_in(levels);
    const bool sorted = texts && std::is_sorted(texts->begin(), texts->end()) &&
                        std::adjacent_find(texts->begin(), texts->end()) == texts->end();
    if (!texts || (!sorted && column.kind == ColumnKind::kCategory)) {
      refuse("levels are not sorted, or occur twice");
    }
    column.levels = *std::move(texts);
  }
  column.other = base::flag_or(object, "other", false);
  column.indicator = base::flag_or(object, "indicator", false);
  column.fill = number_in(object, "fill");
  return column;
}

// Positive numbers, one for each encoded column; or none.
std::vector<double> weights_in(const Json& object, const char* key, std::int64_t cols) {
  std::vector<double> weights;
  const Json& list = base::member_or_null(object, key);
  if (list.is_null()) return weights;
  if (!list.is_array() || static_cast<std::int64_t>(list.size()) != cols) refuse(key);
  for (const Json& value : list) {
    if (!value.is_number()) refuse(key);
    const auto weight = value.get<double>();
    if (!std::isfinite(weight) || weight <= 0) refuse(key);
    weights.push_back(weight);
  }
  return weights;
}

bool has_levels(const Column& column) {
  return column.kind == ColumnKind::kCategory || column.kind == ColumnKind::kText;
}

bool is_feature(const Column& column) { return column.role == ColumnRole::kFeature; }

}  // namespace

std::vector<std::string> missing_names() { return {kMissing.begin(), kMissing.end()}; }
std::string to_string(Missing missing) { return name_of(missing, kMissing); }
Missing parse_missing(const std::string& name) {
  if (const auto found = value_of<Missing>(name, kMissing)) return *found;
  throw Error(ErrorKind::kUsage, "{}: '{}' is unknown; known are {}", base::parameter("missing"),
              name, list_text(kMissing));
}

bool is_plain(const TableSchema& schema) {
  return schema.missing == Missing::kError && schema.scales.empty() && schema.idf.empty() &&
         !schema.normalize &&
         std::all_of(schema.columns.begin(), schema.columns.end(), [](const Column& column) {
           return !is_feature(column) || (column.kind == ColumnKind::kNumber && !column.indicator);
         });
}

bool has_names(const TableSchema& schema) {
  return std::any_of(schema.columns.begin(), schema.columns.end(),
                     [](const Column& column) { return !column.name.empty(); });
}

bool is_sparse(const TableSchema& schema) {
  std::int64_t cells = 0, encoded = 0;
  for (const Column* column : features(schema)) {
    if (column->kind == ColumnKind::kText) return true;
    ++cells;
    encoded += encoded_width(*column);
  }
  return encoded > 2 * cells;
}

std::vector<const Column*> features(const TableSchema& schema) {
  std::vector<const Column*> found;
  for (const Column& column : schema.columns) {
    if (is_feature(column)) found.push_back(&column);
  }
  return found;
}

const Column* column_with(const TableSchema& schema, ColumnRole role) {
  const auto found = std::find_if(schema.columns.begin(), schema.columns.end(),
                                  [role](const Column& column) { return column.role == role; });
  return found == schema.columns.end() ? nullptr : &*found;
}

std::int64_t encoded_width(const Column& column) {
  const std::int64_t values =
      has_levels(column) ? static_cast<std::int64_t>(column.levels.size()) + column.other : 1;
  return values + column.indicator;
}

std::int64_t encoded_cols(const TableSchema& schema) {
  std::int64_t cols = schema.unnamed;
  for (const Column* column : features(schema)) cols += encoded_width(*column);
  return cols;
}

std::vector<std::string> encoded_names(const TableSchema& schema) {
  std::vector<std::string> names;
  const bool named = has_names(schema);
  // Columns without names get some only where levels need them.
  const bool expands =
      std::any_of(schema.columns.begin(), schema.columns.end(), [](const Column& column) {
        return is_feature(column) && (has_levels(column) || column.indicator);
      });
  if (!named && !expands) return names;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    if (!is_feature(column)) continue;
    const std::string name = named ? column.name : fmt::format("{}", i);
    if (column.kind == ColumnKind::kText) {
      names.insert(names.end(), column.levels.begin(), column.levels.end());
      continue;
    }
    if (column.kind != ColumnKind::kCategory) names.push_back(name);
    for (const std::string& level : column.levels) names.push_back(name + "=" + level);
    if (column.other) names.push_back(name + "=(other)");
    if (column.indicator) names.push_back(name + "=(missing)");
  }
  return names;
}

Json to_json(const TableSchema& schema) {
  Json columns = Json::array();
  for (const Column& column : schema.columns) {
    Json& object = columns.emplace_back(Json::object());
    if (!column.name.empty()) object["name"] = column.name;
    if (!is_feature(column)) object["role"] = name_of(column.role, kRoles);
    object["kind"] = name_of(column.kind, kKinds);
    if (has_levels(column)) object["levels"] = column.levels;
    if (column.other) object["other"] = true;
    if (column.indicator) object["indicator"] = true;
    if (column.fill) object["fill"] = *column.fill;
  }
  Json made = {{"missing", to_string(schema.missing)}, {"columns", std::move(columns)}};
  if (schema.unnamed > 0) made["unnamed"] = schema.unnamed;
  if (schema.ngrams != 1) made["ngrams"] = schema.ngrams;
  if (!schema.scales.empty()) made["scales"] = schema.scales;
  if (!schema.idf.empty()) made["idf"] = schema.idf;
  if (schema.normalize) made["normalize"] = "l2";
  return made;
}

TableSchema schema_from_json(const Json& object) {
  TableSchema schema;
  const Json& columns = base::member_or_null(object, "columns");
  if (!columns.is_array()) refuse("it has no columns");
  schema.missing = choice_in<Missing>(object, "missing", "", kMissing);
  for (const Json& column : columns) schema.columns.push_back(column_from_json(column));
  schema.unnamed = base::count_or(object, "unnamed", 0);
  schema.ngrams = static_cast<int>(std::min<std::int64_t>(base::count_or(object, "ngrams", 1), 16));
  if ((schema.unnamed == 0) == features(schema).empty() || schema.ngrams < 1) {
    refuse("no column is a feature");
  }
  schema.scales = weights_in(object, "scales", encoded_cols(schema));
  schema.idf = weights_in(object, "idf", encoded_cols(schema));
  schema.normalize = base::text_or(object, "normalize", "") == "l2";
  return schema;
}

}  // namespace meanwhile::data
