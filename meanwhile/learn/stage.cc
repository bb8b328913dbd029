#include "meanwhile/learn/stage.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace meanwhile::learn {

std::span<const double> all_rows(const exchange::Update& total, int block,
                                 std::vector<double>& scratch) {
  const exchange::Block& shape = total.shape()[static_cast<std::size_t>(block)];
  if (!shape.sparse || std::ssize(total.touched(block)) == shape.rows) {
    return total.dense<double>(block);
  }
  scratch.assign(static_cast<std::size_t>(shape.values()), 0.0);
  for (const std::int64_t row : total.touched(block)) {
    const std::span<const double> values = total.row<double>(block, row);
    std::copy(values.begin(), values.end(), scratch.begin() + row * shape.width);
  }
  return scratch;
}

exchange::Block rows_block(std::int64_t rows, std::int64_t width, double values) {
  const bool fits = static_cast<std::size_t>(width) * sizeof(double) <= exchange::kMostRowBytes;
  // Half of all additions are of two shards.
  const bool few = values < static_cast<double>(rows) &&
                   !exchange::becomes_full(rows, width, static_cast<std::int64_t>(2 * values));
  return {.rows = rows, .width = width, .sparse = few && fits};
}

bool is_plain_zero(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::bit_cast<std::uint64_t>(value) == 0; });
}

}  // namespace meanwhile::learn
