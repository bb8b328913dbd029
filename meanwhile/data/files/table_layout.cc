#include "meanwhile/data/files/table_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

std::vector<TableField> fields_of(const std::vector<ColumnKind>& kinds,
                                  const std::vector<std::string>& names,
                                  const ReadOptions& options) {
  const std::vector<ColumnRole> roles = find_roles(options, names, kinds.size());
  std::vector<TableField> fields(kinds.size());
  std::uint32_t feature = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    fields[i] = {roles[i], kinds[i], 0};
    if (roles[i] == ColumnRole::kFeature) fields[i].feature = feature++;
  }
  for (const std::string& given : options.categorical) {
    const std::string parameter = base::parameter("categorical");
    for (const std::size_t i : find_columns(parameter, given, names, kinds.size())) {
      fields[i].kind = ColumnKind::kCategory;
    }
  }
  return fields;
}

TableSchema schema_of(const std::vector<std::string>& names, const std::vector<TableField>& fields,
                      Missing missing) {
  TableSchema schema;
  schema.missing = missing;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Column& column = schema.columns.emplace_back();
    if (!names.empty()) column.name = names[i];
    column.role = fields[i].role;
    // Files may write the same labels as words or truth values: only the kind of a feature counts.
    if (column.role == ColumnRole::kFeature) column.kind = fields[i].kind;
  }
  return schema;
}

void check_names(const std::vector<std::string>& names, const std::vector<TableField>& fields) {
  std::vector<std::string> used;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (fields[i].role != ColumnRole::kIgnored) used.push_back(names[i]);
  }
  std::sort(used.begin(), used.end());
  const auto twice = std::adjacent_find(used.begin(), used.end());
  if (twice == used.end()) return;
  throw base::Error(base::ErrorKind::kInput,
                    "two columns are named {}; name them apart, or leave one out by its number "
                    "with `ignore_column`",
                    twice->empty() ? "nothing" : "'" + *twice + "'");
}

bool is_too_coarse(const CellCounts& numbers) {
  return numbers.high > numbers.low && numbers.changed > 1e-6 * (numbers.high - numbers.low);
}

std::string coarse_note(const std::vector<std::string>& columns) {
  return fmt::format(
      "float32 is too coarse for {}, whose values differ by little; `dtype` float64 keeps them "
      "apart",
      list_text(columns));
}

}  // namespace meanwhile::data
