// The columns of an Arrow schema as those of a table.
#pragma once

#include <arrow/type.h>

#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/files/match_table.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

struct ArrowLayout {
  // One a column. Those inside a structure are columns, too, named "outer.inner".
  std::vector<std::string> names;
  std::vector<std::shared_ptr<arrow::DataType>> types;
  std::vector<std::vector<int>> paths;  // number of the field, of its child, ...
  std::vector<TableField> fields;
  bool label_is_word = false;
  TableSchema table;  // what raw rows hold: the columns of this file, or those of the model
  std::vector<std::string> notes;

  // The fields of the Arrow schema that are used, in its order.
  std::vector<int> used() const;
};

// The types say what columns hold: numbers; truth values; dates and times; text is a category.
// THROWS Error without the name of the file: kUsage for a column that does not exist, kInput for
// columns that the model needs and the file lacks, for names that occur twice, and for a column
// that is used and holds lists or something else that has no place in a table.
ArrowLayout arrow_layout(const arrow::Schema& schema, const ReadOptions& options);

}  // namespace meanwhile::data
