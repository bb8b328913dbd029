#include "meanwhile/data/table/column_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace meanwhile::data {

namespace {

constexpr std::size_t kExponents = 2048;
constexpr std::size_t kWords = 2 * kExponents + 1;  // of a sum: two halves for each exponent, count
constexpr std::uint64_t kHalfBits = 26;
constexpr std::size_t kCells = std::size_t{1} << 16;  // of a histogram
constexpr std::size_t kColumnsAtOnce = 32;

// Adds a value to the words of a sum. The significand of a double has 53 bits, more than a word of
// 64 bits can add up often: its halves are added apart, 2^36 times at least.
// The lower half of a number that was a float32 is 0.
template <class T>
void add(std::int64_t* words, T number) {
  const auto value = static_cast<double>(number);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::size_t exponent = (bits >> 52) & 0x7ff;
  std::uint64_t significand = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent > 0) significand |= std::uint64_t{1} << 52;
  const auto sign = std::int64_t{1} - 2 * static_cast<std::int64_t>(bits >> 63);
  std::int64_t* const at = words + 2 * exponent;
  if constexpr (sizeof(T) == 8) {
    at[0] += sign * static_cast<std::int64_t>(significand & ((std::uint64_t{1} << kHalfBits) - 1));
  }
  at[1] += sign * static_cast<std::int64_t>(significand >> kHalfBits);
  ++words[2 * kExponents];
}

ColumnMean mean_of(const std::int64_t* words) {
  ColumnMean mean;
  mean.count = words[2 * kExponents];
  if (mean.count == 0) return mean;
  const auto count = static_cast<double>(mean.count);
  for (std::size_t e = 0; e < kExponents; ++e) {
    const int power = static_cast<int>(std::max<std::size_t>(e, 1)) - 1075;
    // Divided first: a sum of large values need not be finite, their mean is.
    for (std::size_t half = 0; half < 2; ++half) {
      const std::int64_t sum = words[2 * e + half];
      if (sum == 0) continue;
      mean.mean +=
          std::ldexp(static_cast<double>(sum) / count, power + static_cast<int>(half * kHalfBits));
    }
  }
  return mean;
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Bits whose order as whole numbers is the order of the values, and back.
template <class T>
Bits<T> ordered(T value) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);
  const auto bits = std::bit_cast<Bits<T>>(value);
  return (bits & kSign) != 0 ? static_cast<Bits<T>>(~bits) : static_cast<Bits<T>>(bits | kSign);
}
template <class T>
T value_of(Bits<T> bits) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);
  return std::bit_cast<T>((bits & kSign) != 0 ? static_cast<Bits<T>>(bits & ~kSign)
                                              : static_cast<Bits<T>>(~bits));
}

// A value that is looked for: number `rank` of those whose upper bits are `prefix`.
template <class T>
struct Search {
  std::size_t column = 0;
  std::int64_t rank = -1;  // -1: not known yet
  Bits<T> prefix = 0;
};

// One pass: the next 16 bits of all searches. Before the first pass, rank is the half to find: the
// lower or the upper of the two in the middle.
template <class T>
void narrow(const RowPieces<T>& rows, std::vector<Search<T>>& searches, unsigned bits_known,
            const AddUp& add_up) {
  const unsigned shift = 8 * sizeof(T) - bits_known - 16;
  std::vector<std::vector<std::int64_t>> counts(static_cast<std::size_t>(rows.threads));
  rows.for_each([&](std::span<const T> piece, int thread) {
    auto& mine = counts[static_cast<std::size_t>(thread)];
    if (mine.empty()) mine.resize(searches.size() * kCells);
    for (std::size_t s = 0; s < searches.size(); ++s) {
      const Search<T>& search = searches[s];
      std::int64_t* const cells = &mine[s * kCells];
      for (std::size_t at = search.column; at < piece.size(); at += rows.width) {
        if (piece[at] != piece[at]) continue;
        const Bits<T> bits = ordered(piece[at]);
        if (bits_known > 0 && (bits >> (shift + 16)) != search.prefix) continue;
        ++cells[(bits >> shift) & (kCells - 1)];
      }
    }
  });
  std::vector<std::int64_t> all(searches.size() * kCells);
  for (const auto& mine : counts) {
    for (std::size_t i = 0; i < mine.size(); ++i) all[i] += mine[i];
  }
  add_up(all);
  for (std::size_t s = 0; s < searches.size(); ++s) {
    Search<T>& search = searches[s];
    const std::int64_t* const cells = &all[s * kCells];
    if (bits_known == 0) {
      std::int64_t count = 0;
      for (std::size_t i = 0; i < kCells; ++i) count += cells[i];
      search.rank = s % 2 == 0 ? (count - 1) / 2 : count / 2;
    }
    std::size_t cell = 0;
    while (cell + 1 < kCells && search.rank >= cells[cell]) search.rank -= cells[cell++];
    search.prefix = static_cast<Bits<T>>((bits_known == 0 ? 0 : search.prefix << 16) | cell);
  }
}

}  // namespace

template <class T>
std::vector<ColumnMean> column_means(const RowPieces<T>& rows,
                                     const std::vector<std::size_t>& columns, const AddUp& add_up) {
  std::vector<ColumnMean> means;
  for (std::size_t first = 0; first < columns.size(); first += kColumnsAtOnce) {
    const std::size_t some = std::min(kColumnsAtOnce, columns.size() - first);
    std::vector<std::vector<std::int64_t>> sums(static_cast<std::size_t>(rows.threads));
    rows.for_each([&](std::span<const T> piece, int thread) {
      auto& mine = sums[static_cast<std::size_t>(thread)];
      if (mine.empty()) mine.resize(some * kWords);
      for (std::size_t at = 0; at < piece.size(); at += rows.width) {
        for (std::size_t i = 0; i < some; ++i) {
          const T value = piece[at + columns[first + i]];
          if (value == value) add(&mine[i * kWords], value);
        }
      }
    });
    std::vector<std::int64_t> all(some * kWords);
    for (const auto& mine : sums) {
      for (std::size_t i = 0; i < mine.size(); ++i) all[i] += mine[i];
    }
    add_up(all);
    for (std::size_t i = 0; i < some; ++i) means.push_back(mean_of(&all[i * kWords]));
  }
  return means;
}

template <class T>
std::vector<double> column_medians(const RowPieces<T>& rows,
                                   const std::vector<std::size_t>& columns, const AddUp& add_up) {
  std::vector<double> medians;
  for (std::size_t first = 0; first < columns.size(); first += kColumnsAtOnce / 2) {
    const std::size_t some = std::min(kColumnsAtOnce / 2, columns.size() - first);
    std::vector<Search<T>> searches(2 * some);
    for (std::size_t s = 0; s < searches.size(); ++s) searches[s].column = columns[first + s / 2];
    for (unsigned known = 0; known < 8 * sizeof(T); known += 16) {
      narrow(rows, searches, known, add_up);
    }
    for (std::size_t i = 0; i < some; ++i) {
      const double low = value_of<T>(searches[2 * i].prefix);
      const double high = value_of<T>(searches[2 * i + 1].prefix);
      // A column without any value has none in the middle.
      const bool none = !std::isfinite(low) || !std::isfinite(high);
      medians.push_back(none ? 0 : low / 2 + high / 2);
    }
  }
  return medians;
}

template std::vector<ColumnMean> column_means(const RowPieces<float>&,
                                              const std::vector<std::size_t>&, const AddUp&);
template std::vector<ColumnMean> column_means(const RowPieces<double>&,
                                              const std::vector<std::size_t>&, const AddUp&);
template std::vector<double> column_medians(const RowPieces<float>&,
                                            const std::vector<std::size_t>&, const AddUp&);
template std::vector<double> column_medians(const RowPieces<double>&,
                                            const std::vector<std::size_t>&, const AddUp&);

}  // namespace meanwhile::data
