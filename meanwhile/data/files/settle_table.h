// Raw rows of a table become the rows of a data set, once all of them were read.
#pragma once

#include <string>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/table/column_statistics.h"
#include "meanwhile/data/table/levels.h"

namespace meanwhile::data {

// `raw`: rows of this worker, whose table says what they hold; returned as they are when `counts`
// is empty. Levels in them are numbered as in `numbering`. `counts` and `rows` are those of all
// workers; `add_up` adds over them. The schema is fitted, or that of options.schema. `name`: of the
// first file, for messages. Collective where add_up is. THROWS Error(kInput) for missing values as
// check_missing().
Dataset settle_table(Dataset raw, const TableCounts& numbering, const TableCounts& counts,
                     std::int64_t rows, const ReadOptions& options, const AddUp& add_up,
                     const std::string& name);

// The schema of a table with raw rows, and what a user should know. THROWS as settle_table().
struct SettledTable {
  TableSchema schema;
  std::vector<std::string> notes;
};
template <class T>
SettledTable settle_schema(const TableSchema& read, const TableCounts& counts, std::int64_t rows,
                           const RowPieces<T>& pieces, const ReadOptions& options,
                           const AddUp& add_up, const std::string& name);

// For a single worker, whose counts are those of all.
inline void add_up_alone(std::span<std::int64_t>) {}

}  // namespace meanwhile::data
