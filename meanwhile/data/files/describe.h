// Descriptions of the columns of data, by reading it once, in bounded memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// The most columns that are described; the first of them.
inline constexpr std::size_t kDescribedColumns = 100;

// A JSON object: format, rows, cols, stored, layout, weighted, dtype (of arrays); `labels` (how
// often each occurs, or their moments) and `weights` where there are any; `sampled_rows` where
// quantiles are those of a sample; `columns`, a list with these keys each:
//
//   column         its name, or its number
//   kind           number, integer, boolean, date, category; mixed: numbers and words
//   missing        cells without a value
//   numbers        of a mixed column: cells that are numbers; `top` has its words alone
//   distinct       different values; distinct_is_estimate: true where they were too many to count
//   mean, std, min, 25%, 50%, 75%, max     of numbers (std as pandas: of a sample) and of dates
//   top            the most frequent values and their counts: all of categories and truth values,
//                  of numbers where one in 20 values at most is different; count_is_least: true
//                  where rare ones may be missed
//
// All columns of a table are described as they lie in the files: none is a category that the model
// splits. THROWS as read(), but not for missing values.
base::Json describe(const std::vector<std::filesystem::path>& paths, const ReadOptions& options);

}  // namespace meanwhile::data
