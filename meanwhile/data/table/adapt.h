// Rows of files without a table, or with one of their own, for a model that has a schema.
#pragma once

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The rows with the columns of encoded_names(schema), and its weights (weigh.h). Columns that have
// names are found by them; others by position and number: either the encoded columns, or, where all
// features are numbers, those of the files. REQUIRES: the data has no weights yet. THROWS
// Error(kInput) that lists the columns which the data lacks.
Dataset adapt(Dataset data, const TableSchema& schema, base::Threads threads);

}  // namespace meanwhile::data
