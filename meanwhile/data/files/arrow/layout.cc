#include "meanwhile/data/files/arrow/layout.h"

#include <arrow/type_traits.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/table_layout.h"

namespace meanwhile::data {

namespace {

using arrow::Type;
using base::Error;
using base::ErrorKind;

void add_columns(const arrow::Field& field, const std::string& before, std::vector<int> path,
                 ArrowLayout& layout) {
  constexpr std::size_t kDeepest = 32;
  const std::string name = before + field.name();
  if (field.type()->id() == Type::STRUCT && path.size() < kDeepest) {
    for (int i = 0; i < field.type()->num_fields(); ++i) {
      path.push_back(i);
      add_columns(*field.type()->field(i), name + '.', path, layout);
      path.pop_back();
    }
    return;
  }
  layout.names.push_back(name);
  layout.types.push_back(field.type());
  layout.paths.push_back(std::move(path));
}

// Nothing for a type that has no place in a table.
std::optional<ColumnKind> kind_of_type(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::BOOL:
      return ColumnKind::kBoolean;
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIMESTAMP:
      return ColumnKind::kDate;
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
      return ColumnKind::kCategory;
    case Type::DICTIONARY:
      return kind_of_type(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case Type::NA:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return ColumnKind::kNumber;
    default:
      if (arrow::is_numeric(type.id())) return ColumnKind::kNumber;
      return std::nullopt;
  }
}

// pandas stores the labels of its rows as a column of this name.
bool is_index(const std::string& name) { return name.starts_with("__index_level_"); }

}  // namespace

std::vector<int> ArrowLayout::used() const {
  std::vector<int> used;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].role != ColumnRole::kIgnored) used.push_back(paths[i].front());
  }
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

ArrowLayout arrow_layout(const arrow::Schema& schema, const ReadOptions& options) {
  ArrowLayout layout;
  for (int i = 0; i < schema.num_fields(); ++i) {
    add_columns(*schema.field(i), "", {i}, layout);
  }
  const std::size_t count = layout.names.size();
  if (options.schema) {
    layout.fields = match_fields(*options.schema, layout.names, count, options);
    layout.table = *options.schema;
  } else {
    std::vector<ColumnKind> kinds;
    for (const auto& type : layout.types) {
      kinds.push_back(kind_of_type(*type).value_or(ColumnKind::kNumber));
    }
    ReadOptions asked = options;
    for (const std::string& name : layout.names) {
      if (!is_index(name) || !options.columns.empty()) continue;
      if (name == options.label_column || name == options.weight_column) continue;
      asked.ignore_columns.push_back(name);
      layout.notes.push_back(fmt::format("{}, the index of pandas, is left out", name));
    }
    layout.fields = fields_of(kinds, layout.names, asked);
    check_names(layout.names, layout.fields);
    layout.table = schema_of(layout.names, layout.fields, options.missing);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ColumnRole role = layout.fields[i].role;
    if (role == ColumnRole::kIgnored) continue;
    const auto kind = kind_of_type(*layout.types[i]);
    if (!kind) {
      throw Error(ErrorKind::kInput,
                  "column {} holds {}, which is not read; use `ignore_column` {}", layout.names[i],
                  layout.types[i]->ToString(), layout.names[i]);
    }
    if (role == ColumnRole::kLabel) layout.label_is_word = *kind != ColumnKind::kNumber;
  }
  return layout;
}

}  // namespace meanwhile::data
