// Steps of read() that convert() and job::load() share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// find_inputs(). THROWS also Error(kUsage) if the options do not fit the files.
std::vector<InputFile> find_checked_inputs(const std::vector<std::filesystem::path>& paths,
                                           const ReadOptions& options);

// The options with a vocabulary if one of the files is text. The text is read for it if the options
// have none. THROWS as count_words; Error(kUsage) if words may not be chosen.
ReadOptions with_vocabulary(std::vector<InputFile>& files, ReadOptions options);

// THROWS Error(kInput) if there are no columns, because all sparse rows are empty.
void check_columns(std::int64_t cols, const std::vector<InputFile>& files);

// Turns the number of columns that the rows have, and the names that the files have, into those of
// the data set: sparse rows get at least options.n_features columns, and columns get the names of
// options.column_names. THROWS as check_columns, and Error(kInput) if names do not fit.
void settle_columns(std::int64_t& cols, std::vector<std::string>& names, bool sparse,
                    const ReadOptions& options, const std::vector<InputFile>& files);
void settle_columns(Dataset& data, const ReadOptions& options, const std::vector<InputFile>& files);

}  // namespace meanwhile::data
