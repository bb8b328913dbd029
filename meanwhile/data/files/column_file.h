// Labels or weights in a file of their own, one for each row of the data.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

struct ColumnFile {
  std::vector<double> values;
  std::vector<std::string> names;  // not empty: values are indices into it, in order of appearance
};

// Reads an NPY or IDX file with one column, or text with one number or word a line, also
// compressed. The first line of text is a header if it alone is a word. THROWS Error(kInput), the
// name of the file first.
ColumnFile read_column(const std::filesystem::path& path);

// Gives the data, which holds `rows` of the `all` rows of a data set, the labels and weights that
// options.labels and options.weights name. THROWS Error(kInput) when a file has another number of
// values, or the data has labels or weights already; Error(kUsage) when rows may have been left
// out.
void attach_columns(Dataset& data, std::span<const RowRange> rows, std::int64_t all,
                    const ReadOptions& options);

}  // namespace meanwhile::data
