// Levels, fill values and notes of a table, once all of its rows were read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "meanwhile/data/table/column_statistics.h"
#include "meanwhile/data/table/levels.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The schema of a table whose columns are `read` (names, roles, kinds) and whose raw rows are
// `rows`: with levels, fill values and indicators. `counts`: of the rows of all workers. Levels
// past `max_levels` become one, "other"; the most frequent are kept, and of equally frequent ones
// those that come first by their bytes. Collective where add_up is.
template <class T>
TableSchema fit(TableSchema read, const TableCounts& counts, std::size_t max_levels,
                const RowPieces<T>& rows, const AddUp& add_up);

// THROWS Error(kInput) when cells are missing and the schema has nothing to put there. The message
// names every column that lacks some.
void check_missing(const TableSchema& read, const TableCounts& counts, std::int64_t rows);

// Notes for the user on a table that was read for training, and on one that was read for a model
// with `schema`: levels that were merged or are new, cells that were filled, rows that were left
// out.
std::vector<std::string> training_notes(const TableSchema& schema, const TableCounts& counts,
                                        std::int64_t rows);
std::vector<std::string> matching_notes(const TableSchema& schema, const TableCounts& counts,
                                        std::int64_t rows, std::int64_t incomplete);

// The name of a feature for messages: its own, or its number among the columns, from 0.
std::string shown_name(const TableSchema& schema, std::size_t feature);

}  // namespace meanwhile::data
