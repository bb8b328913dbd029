// Checks that make a row safe to index with. All THROW Error(kInput).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace meanwhile::data {

// Checks that the row lies among the entries and its columns are >= 0 and rise strictly. Returns
// the last column, -1 if there is none.
std::int32_t check_row(std::span<const std::int64_t> row_start,
                       std::span<const std::int32_t> columns, std::size_t row);

void check_weight(std::size_t row, double weight);

// `classes`: the number of class names that labels are indices into; 0: labels are numbers.
void check_label(std::size_t row, double label, std::size_t classes);

}  // namespace meanwhile::data
