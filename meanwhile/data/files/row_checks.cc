#include "meanwhile/data/files/row_checks.h"

#include <cmath>

#include "meanwhile/base/error.h"

namespace meanwhile::data {

using base::Error;
using base::ErrorKind;

std::int32_t check_row(std::span<const std::int64_t> row_start,
                       std::span<const std::int32_t> columns, std::size_t row) {
  const auto entries = static_cast<std::int64_t>(columns.size());
  const std::int64_t begin = row_start[row], end = row_start[row + 1];
  if (begin < 0 || begin > end || end > entries) {
    throw Error(ErrorKind::kInput,
                "row {} (counted from 0): row_start goes from {} to {} of {} entries", row, begin,
                end, entries);
  }
  std::int32_t before = -1;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t column = columns[static_cast<std::size_t>(i)];
    if (column <= before) {
      throw Error(ErrorKind::kInput,
                  "row {} (counted from 0): column {} where more than {} was expected; columns "
                  "must rise",
                  row, column, before);
    }
    before = column;
  }
  return before;
}

void check_weight(std::size_t row, double weight) {
  if (std::isfinite(weight) && weight >= 0) return;
  throw Error(ErrorKind::kInput, "weights[{}] is {}, expected a finite number >= 0", row, weight);
}

void check_label(std::size_t row, double label, std::size_t classes) {
  if (!std::isfinite(label)) {
    throw Error(ErrorKind::kInput, "labels[{}] is {}, expected a finite number", row, label);
  }
  if (classes > 0 &&
      !(label >= 0 && label < static_cast<double>(classes) && label == std::floor(label))) {
    throw Error(ErrorKind::kInput, "labels[{}] is {}, expected the number of one of {} class_names",
                row, label, classes);
  }
}

}  // namespace meanwhile::data
