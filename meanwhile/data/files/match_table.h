// The columns of a file that a model with a schema needs: by name where both have names, else by
// position and number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The use of a column of a file.
struct TableField {
  ColumnRole role = ColumnRole::kIgnored;
  ColumnKind kind = ColumnKind::kNumber;
  std::uint32_t feature = 0;  // of a feature: its number among those of a raw row
};

// One for each of `fields` columns of a file with these names (empty: none). Columns that the model
// does not know are ignored. THROWS Error(kInput), without the name of the file, that lists all
// columns which the model needs and the file does not have; Error(kUsage) as find_columns.
std::vector<TableField> match_fields(const TableSchema& schema,
                                     const std::vector<std::string>& names, std::size_t fields,
                                     const ReadOptions& options);

// Whether a first line that reads `names` holds the names of all features.
bool names_features(const TableSchema& schema, const std::vector<std::string>& names);

}  // namespace meanwhile::data
