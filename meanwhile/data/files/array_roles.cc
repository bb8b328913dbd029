#include "meanwhile/data/files/array_roles.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/match_table.h"
#include "meanwhile/data/files/row_checks.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

bool names_roles(const ReadOptions& options) {
  return !options.label_column.empty() || !options.weight_column.empty() ||
         !options.ignore_columns.empty() || !options.columns.empty();
}

std::vector<ColumnRole> roles_of(const ReadOptions& options, std::size_t cols) {
  if (!options.schema || options.schema->columns.empty()) return find_roles(options, {}, cols);
  std::vector<ColumnRole> roles;
  for (const TableField& field : match_fields(*options.schema, {}, cols, options)) {
    roles.push_back(field.role);
  }
  return roles;
}

template <class T>
void split(const Dense<T>& m, const std::vector<ColumnRole>& roles, Dataset& data) {
  const auto rows = static_cast<std::size_t>(m.rows);
  const auto features =
      static_cast<std::size_t>(std::count(roles.begin(), roles.end(), ColumnRole::kFeature));
  if (features == 0) throw Error(ErrorKind::kUsage, "no column is left for the features");
  base::Buffer<T> values(rows * features);
  T* to = values.data();
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const auto row = m.row(i);
    for (std::size_t j = 0; j < roles.size(); ++j) {
      if (roles[j] == ColumnRole::kFeature) *to++ = row[j];
    }
  }
  const auto column = [&](ColumnRole role) -> std::span<const double> {
    const auto found = std::find(roles.begin(), roles.end(), role);
    if (found == roles.end()) return {};
    base::Buffer<double> numbers(rows);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      numbers[static_cast<std::size_t>(i)] =
          static_cast<double>(m.row(i)[static_cast<std::size_t>(found - roles.begin())]);
    }
    return own(data, std::move(numbers));
  };
  data.labels = column(ColumnRole::kLabel);
  data.weights = column(ColumnRole::kWeight);
  for (std::size_t i = 0; i < data.labels.size(); ++i) check_label(i, data.labels[i], 0);
  for (std::size_t i = 0; i < data.weights.size(); ++i) check_weight(i, data.weights[i]);
  data.x =
      Dense<T>{own(data, std::move(values)).data(), m.rows, static_cast<std::int64_t>(features)};
  data.mapped = false;
}

}  // namespace

bool has_array_roles(const ReadOptions& options) {
  if (names_roles(options)) return true;
  return options.schema &&
         std::any_of(options.schema->columns.begin(), options.schema->columns.end(),
                     [](const Column& column) { return column.role != ColumnRole::kFeature; });
}

Dataset take_array_roles(Dataset data, const ReadOptions& options) {
  if (is_sparse(data.x) || data.table) return data;
  const auto count = static_cast<std::size_t>(cols(data.x));
  const std::vector<ColumnRole> roles = roles_of(options, count);
  const bool all = std::all_of(roles.begin(), roles.end(),
                               [](ColumnRole role) { return role == ColumnRole::kFeature; });
  if (all) return data;
  if (!data.labels.empty() || !data.weights.empty()) {
    throw Error(ErrorKind::kUsage, "the file has labels or weights of its own");
  }
  if (const auto* floats = std::get_if<Dense<float>>(&data.x)) {
    split(Dense<float>(*floats), roles, data);
  } else {
    split(Dense<double>(std::get<Dense<double>>(data.x)), roles, data);
  }
  if (!options.schema) {
    TableSchema schema;
    for (const ColumnRole role : roles) schema.columns.emplace_back().role = role;
    data.table = std::make_shared<const TableSchema>(std::move(schema));
  }
  return data;
}

}  // namespace meanwhile::data
