#include "meanwhile/data/table/column_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace meanwhile::data {

namespace {

constexpr std::size_t kCells = std::size_t{1} << 16;  // of a histogram
constexpr std::size_t kColumnsAtOnce = 32;
constexpr std::size_t kRowsInCache = 512;  // whose cells stay in the cache

// How a T is made up. The sum of a column is a word for each exponent, to which significands are
// added. That of a double has 53 bits, more than a word of 64 bits can add up often: its halves are
// added apart, 2^36 times at least.
template <class T>
struct Parts;
template <>
struct Parts<float> {
  using Bits = std::uint32_t;
  static constexpr int kSignificandBits = 23, kBias = 150, kHalves = 1;
};
template <>
struct Parts<double> {
  using Bits = std::uint64_t;
  static constexpr int kSignificandBits = 52, kBias = 1075, kHalves = 2;
};
constexpr int kHalfBits = 26;

template <class T>
constexpr std::size_t kExponents =
    std::size_t{1} << (8 * sizeof(T) - 1 - Parts<T>::kSignificandBits);
// Words of a sum. NaN has the largest exponent, whose words count for nothing.
template <class T>
constexpr std::size_t kSumWords = kExponents<T>* Parts<T>::kHalves;
// Rows are added to several sums in turn: an addition need not wait for the one before it.
constexpr std::size_t kSums = 4;

// Adds a value to the words of a sum.
template <class T>
void add(std::int64_t* words, T value) {
  using Bits = typename Parts<T>::Bits;
  constexpr int kFraction = Parts<T>::kSignificandBits;
  const auto bits = std::bit_cast<Bits>(value);
  const auto exponent = static_cast<std::size_t>(bits >> kFraction) & (kExponents<T> - 1);
  const auto implied = static_cast<std::uint64_t>(exponent != 0) << kFraction;
  const std::uint64_t significand = (bits & ((Bits{1} << kFraction) - 1)) | implied;
  const auto sign = -static_cast<std::int64_t>(bits >> (8 * sizeof(T) - 1));  // 0 or -1
  const auto add_to = [sign](std::int64_t& word, std::uint64_t part) {
    word += (static_cast<std::int64_t>(part) ^ sign) - sign;
  };
  if constexpr (Parts<T>::kHalves == 1) {
    add_to(words[exponent], significand);
  } else {
    add_to(words[2 * exponent], significand & ((std::uint64_t{1} << kHalfBits) - 1));
    add_to(words[2 * exponent + 1], significand >> kHalfBits);
  }
}

template <class T>
ColumnMean mean_of(const std::int64_t* words, std::int64_t counted) {
  ColumnMean mean;
  mean.count = counted;
  if (mean.count == 0) return mean;
  const auto count = static_cast<double>(mean.count);
  for (std::size_t e = 0; e + 1 < kExponents<T>; ++e) {
    const int power = static_cast<int>(std::max<std::size_t>(e, 1)) - Parts<T>::kBias;
    // Divided first: a sum of large values need not be finite, their mean is.
    for (int half = 0; half < Parts<T>::kHalves; ++half) {
      const std::int64_t sum = words[e * Parts<T>::kHalves + static_cast<std::size_t>(half)];
      if (sum == 0) continue;
      mean.mean += std::ldexp(static_cast<double>(sum) / count, power + half * kHalfBits);
    }
  }
  return mean;
}

// Adds the values of a column, `stride` apart. Returns how many are no NaN.
template <class T>
std::int64_t add_column(const T* value, std::size_t rows, std::size_t stride, std::int64_t* sums) {
  std::int64_t count = 0;
  std::size_t row = 0;
  for (; row + kSums <= rows; row += kSums) {
    for (std::size_t k = 0; k < kSums; ++k, value += stride) {
      count += *value == *value;
      add(sums + k * kSumWords<T>, *value);
    }
  }
  for (; row < rows; ++row, value += stride) {
    count += *value == *value;
    add(sums, *value);
  }
  return count;
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
  constexpr std::size_t kColumnWords = kSums * kSumWords<T> + 1;  // and the count
  std::vector<ColumnMean> means;
  for (std::size_t first = 0; first < columns.size(); first += kColumnsAtOnce) {
    const std::size_t some = std::min(kColumnsAtOnce, columns.size() - first);
    std::vector<std::vector<std::int64_t>> sums(static_cast<std::size_t>(rows.threads));
    rows.for_each([&](std::span<const T> piece, int thread) {
      auto& mine = sums[static_cast<std::size_t>(thread)];
      if (mine.empty()) mine.resize(some * kColumnWords);
      const std::size_t step = kRowsInCache * rows.width;
      for (std::size_t at = 0; at < piece.size(); at += step) {
        const std::size_t count = std::min(step, piece.size() - at) / rows.width;
        for (std::size_t i = 0; i < some; ++i) {
          std::int64_t* const words = &mine[i * kColumnWords];
          words[kColumnWords - 1] +=
              add_column(&piece[at + columns[first + i]], count, rows.width, words);
        }
      }
    });
    std::vector<std::int64_t> all(some * (kSumWords<T> + 1));
    for (const auto& mine : sums) {
      for (std::size_t i = 0; i < mine.size(); ++i) {
        const std::size_t word = i % kColumnWords;
        const bool is_count = word + 1 == kColumnWords;
        all[i / kColumnWords * (kSumWords<T> + 1) +
            (is_count ? kSumWords<T> : word % kSumWords<T>)] += mine[i];
      }
    }
    add_up(all);
    for (std::size_t i = 0; i < some; ++i) {
      const std::int64_t* const words = &all[i * (kSumWords<T> + 1)];
      means.push_back(mean_of<T>(words, words[kSumWords<T>]));
    }
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
