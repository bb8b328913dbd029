// The use of each column of a file, once names and kinds are known: the part of reading a table
// that all of its formats share.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/match_table.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The columns of a file that is read to learn from, in its order. `names`: empty if it has none.
// THROWS Error(kUsage) as find_roles.
std::vector<TableField> fields_of(const std::vector<ColumnKind>& kinds,
                                  const std::vector<std::string>& names,
                                  const ReadOptions& options);

// The schema of such a file, which has no levels yet.
TableSchema schema_of(const std::vector<std::string>& names, const std::vector<TableField>& fields,
                      Missing missing);

// THROWS Error(kInput) if two columns that are used have one name: it says of neither which it is.
void check_names(const std::vector<std::string>& names, const std::vector<TableField>& fields);

// Whether float32 moves numbers by more than a millionth of their range: some may become equal.
bool is_too_coarse(const CellCounts& numbers);
std::string coarse_note(const std::vector<std::string>& columns);

}  // namespace meanwhile::data
