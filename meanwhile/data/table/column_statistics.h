// Means and medians of columns that do not depend on how rows are divided: all that is added up is
// whole numbers, and whole numbers add in any order.
//
// A floating-point number is a whole number (its significand) times a power of two (by its
// exponent). A sum keeps one whole number for each exponent, so no addition rounds; the mean is
// rounded once for each exponent, from the smallest to the largest. A median is found digit by
// digit: a histogram of the upper 16 bits tells in which of its cells the median lies, a histogram
// of the next 16 bits within that cell tells more, until all bits are known.
//
// Cost: one pass for a mean, sizeof(T) / 2 passes for medians, with 512 KiB for each column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace meanwhile::data {

// Adds up counts over all workers, element by element.
using AddUp = std::function<void(std::span<std::int64_t>)>;

// Rows of `width` values in pieces: calls `use` with each piece, from several threads at once, with
// the number of the thread.
template <class T>
struct RowPieces {
  std::size_t width = 0;
  int threads = 1;
  std::function<void(const std::function<void(std::span<const T>, int)>&)> for_each;
};

// The mean and the number of values of each of `columns`; NaN does not count. 0 where there is
// none.
struct ColumnMean {
  double mean = 0;
  std::int64_t count = 0;
};
template <class T>
std::vector<ColumnMean> column_means(const RowPieces<T>& rows,
                                     const std::vector<std::size_t>& columns, const AddUp& add_up);

// The median of each of `columns`: between the two in the middle if their number is even.
template <class T>
std::vector<double> column_medians(const RowPieces<T>& rows,
                                   const std::vector<std::size_t>& columns, const AddUp& add_up);

}  // namespace meanwhile::data
