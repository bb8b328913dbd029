// Reading for a node that keeps some rows only, of files that cannot be cut into ranges of bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// Reads everything from front to back and keeps the blocks for which keep(b). Text is parsed in
// bounded memory; of other formats one file at a time is held whole, or mapped. THROWS as read().
// REQUIRES: `options` are those of with_vocabulary().
SomeRows read_some(const std::vector<InputFile>& files, const ReadOptions& options,
                   const std::function<bool(std::int64_t)>& keep);

// A single NPY or safetensors file as it lies, without a look at its rows: anything may be in
// them, and there are the columns the file has, not more. Nothing when it cannot be mapped. THROWS
// Error(kInput) for a header that is wrong.
std::optional<Dataset> map_rows(const std::vector<InputFile>& files);

// What is wrong with a row, and when it would be found by read(), which makes one check after the
// other of all rows.
struct BadRow {
  int check = 0;
  std::int64_t row = 0;
  base::Error error;
};

// The first that is wrong in the rows of `ranges` of what map_rows() gave. Gives the pages back.
// After this their row() is in bounds, values, weights and labels are as read() promises.
std::optional<BadRow> find_bad_row(const Dataset& data, const std::vector<InputFile>& files,
                                   const std::vector<RowRange>& ranges, int threads);

}  // namespace meanwhile::data
