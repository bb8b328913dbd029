// Reads some rows of files that cannot be cut into ranges of bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/threads.h"
#include "meanwhile/data/files/filter_sink.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// Reads all files from front to back and keeps the blocks b with keep(b). Text is parsed in bounded
// memory; a file of another format is held whole, or mapped, one at a time. THROWS as read().
// REQUIRES: `options` are those of with_vocabulary().
SomeRows read_some(const std::vector<InputFile>& files, const ReadOptions& options,
                   const std::function<bool(std::int64_t)>& keep);

// The views of a single mapped file, with unchecked rows (BinaryKind::map) and the columns of the
// file. Absent if there are several files, or this one cannot be mapped. THROWS Error(kInput) for a
// wrong header.
std::optional<Dataset> map_rows(const std::vector<InputFile>& files, const ReadOptions& options);

// An error in a row. read() makes each check on all rows before the next check, so it reports the
// bad row with the lowest (check, row).
struct BadRow {
  int check = 0;
  std::int64_t row = 0;
  base::Error error;
};

// Checks the rows of `ranges` in data of map_rows(), releases their pages, and returns the first
// bad row. Absent: row() is in bounds for these rows, and values, weights and labels are as read()
// promises.
std::optional<BadRow> find_bad_row(const Dataset& data, const std::vector<InputFile>& files,
                                   const std::vector<RowRange>& ranges, base::Threads threads);

}  // namespace meanwhile::data
