// Rows of CSV files with new columns: the bytes of records, or of some of their fields, are copied,
// and values that are made from the rows are put behind them.
//
// Threads take chunks of the files, parse them, make the values and the new text, and write it in
// the order of the files. Memory is threads x (a chunk, its rows and its new text), whatever the
// size of the files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// The new columns of some rows.
struct NewValues {
  std::vector<double> values;           // row-major; NaN: nothing
  std::vector<std::string> words = {};  // not empty: values of the first column are indices into it
};

struct AddColumns {
  enum class Keep {
    kRecords,  // whole records, byte for byte; what lies between them; a header if the file has one
    kFields,   // `fields`, byte for byte, behind a header
    kNothing,  // new columns alone, behind a header
  };
  Keep keep = Keep::kRecords;
  std::vector<std::string> fields = {};  // as options name columns (column_roles.h)
  std::vector<std::string> names;        // of the new columns
  // For kNothing; else it is that of the files, which must be a tab if this is one.
  char delimiter = ',';
  // Called by several threads at once.
  std::function<NewValues(const Dataset& rows)> make;
  // Called in order, by one thread at a time.
  std::function<void(std::string_view text)> write;
};

struct AddedColumns {
  std::int64_t rows = 0;
  std::size_t kept = 0;  // fields of the files in a row
  bool has_header = true;
  UnknownWords unknown;
  std::vector<std::string> notes;
};

// Whether all files are CSV, so that add_columns() takes them.
bool are_csv(const std::vector<InputFile>& files);

// Every row of the files, in order. Rows that lack a value are given to `make` as zeros
// (Dataset::incomplete). `asked.schema` says which columns are needed; without one, all must be
// numbers. Files of which whole records are copied have the same columns in the same order. A
// record that ends with its file gets a line end. REQUIRES: are_csv(files), asked.want_labels is
// false, asked.incomplete is kKeep. THROWS as read(); Error(kUsage) if a new column has the name of
// one that is kept.
AddedColumns add_columns(std::vector<InputFile> files, const ReadOptions& asked,
                         const AddColumns& columns);

}  // namespace meanwhile::data
