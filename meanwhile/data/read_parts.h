// The parts of read() that convert() shares.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "meanwhile/data/input_files.h"
#include "meanwhile/data/read.h"

namespace meanwhile::data {

// find_inputs, and a look at whether the options go with the files.
std::vector<InputFile> find_checked_inputs(const std::vector<std::filesystem::path>& paths,
                                           const ReadOptions& options);

// Whether all files have one text format, so that they are parsed as if they were one file.
// REQUIRES: files is not empty.
bool is_one_text(const std::vector<InputFile>& files);

// One file, whatever its format.
Dataset read_one(const InputFile& file, const ReadOptions& options);

// THROWS Error(kInput) when there are no columns: sparse rows that are all empty.
void check_columns(std::int64_t cols, const std::vector<InputFile>& files);

// Gives sparse rows options.n_features columns at least. THROWS as check_columns.
void widen(Matrix& x, const ReadOptions& options, const std::vector<InputFile>& files);

}  // namespace meanwhile::data
