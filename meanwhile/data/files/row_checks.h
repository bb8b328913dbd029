// What must hold of a row before anybody indexes with it. All THROW Error(kInput).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace meanwhile::data {

// The row lies among the entries, and its columns rise from 0 on. Returns the last, -1 if there is
// none.
std::int32_t check_row(std::span<const std::int64_t> row_start,
                       std::span<const std::int32_t> columns, std::size_t row);

void check_weight(std::size_t row, double weight);

// `classes`: how many names labels stand for; 0: they stand for themselves.
void check_label(std::size_t row, double label, std::size_t classes);

}  // namespace meanwhile::data
