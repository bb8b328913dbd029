// The parts of read() that convert() shares.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// find_inputs, and a look at whether the options go with the files.
std::vector<InputFile> find_checked_inputs(const std::vector<std::filesystem::path>& paths,
                                           const ReadOptions& options);

// The options with a vocabulary if text is among the files, which are read for it if need be.
// THROWS as count_words; Error(kUsage) when a vocabulary must be given.
ReadOptions with_vocabulary(std::vector<InputFile>& files, ReadOptions options);

// THROWS Error(kInput) when there are no columns: sparse rows that are all empty.
void check_columns(std::int64_t cols, const std::vector<InputFile>& files);

// The columns of the whole data set, given those that its rows have, and their names, which are
// those of the file if it has any: sparse rows get options.n_features columns at least, and the
// names of options.column_names. THROWS as check_columns, and when names do not fit.
void settle_columns(std::int64_t& cols, std::vector<std::string>& names, bool sparse,
                    const ReadOptions& options, const std::vector<InputFile>& files);
void settle_columns(Dataset& data, const ReadOptions& options, const std::vector<InputFile>& files);

}  // namespace meanwhile::data
