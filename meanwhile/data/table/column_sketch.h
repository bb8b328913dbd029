// Summaries of a column that is not kept: counts, moments, distinct values, the most frequent
// ones. Bounded memory, one pass; the same for the same values in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace meanwhile::data {

std::uint64_t hash_of(double value);
std::uint64_t hash_of(std::string_view text);

// Counts of distinct values by their hashes. Up to `most` values: all of them. Beyond that, those
// whose hash is below a limit, which is lowered so that between most / 2 and `most` are left: an
// even sample of the distinct values ("k minimum values"), whose number over the limit's share of
// all hashes estimates how many there are, within about 1.4 / sqrt(most).
class DistinctValues {
 public:
  explicit DistinctValues(std::size_t most) : most_(most) {}

  // `value`: of a number, itself; of a text, the caller's index.
  void add(std::uint64_t hash, double value, std::int64_t times) {
    if (hash <= limit_) insert(hash, value, times);
  }
  bool exact() const { return limit_ == kAll; }
  double distinct() const;

  struct Entry {
    std::uint64_t hash = 0;
    double value = 0;
    std::int64_t count = 0;  // 0: no entry
  };
  // Those that are kept, most frequent first, of equals the least value; at most so many.
  std::vector<Entry> top(std::size_t most) const;

 private:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  void insert(std::uint64_t hash, double value, std::int64_t times);
  void put(const Entry& entry);
  void rehash(std::size_t slots);
  void lower_limit();

  std::size_t most_, used_ = 0;
  std::uint64_t limit_ = kAll;
  std::vector<Entry> slots_;
};

// The most frequent texts. Counts are exact while there are at most `most` different ones. Beyond
// that rare ones are dropped again and again, with as much taken off each count ("Misra-Gries"): a
// count is at most error() too small, and a text with more than that is never lost.
class FrequentTexts {
 public:
  explicit FrequentTexts(std::size_t most) : most_(most) {}

  void add(std::string_view text, std::int64_t times);
  std::int64_t error() const { return error_; }

  struct Entry {
    std::string text;
    std::int64_t count = 0;
  };
  // Most frequent first, of equals the first by bytes.
  std::vector<Entry> top(std::size_t most) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  void drop_rare();

  std::size_t most_;
  std::int64_t error_ = 0;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
};

// Least, largest, mean and deviation of numbers.
struct Moments {
  std::int64_t count = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double mean = 0, squares = 0;  // squares: the sum of squared differences from the mean
  bool whole = true;             // every number is

  void add(const Moments& other);
  void add(double value, std::int64_t times);
  // The deviation of a sample: divided by count - 1, as pandas does. NaN below two numbers.
  double deviation() const;
};

// Rows of numbers, all of them up to `most`; then those whose number has a hash below a limit that
// is lowered to keep between most / 2 and `most`: an even sample, the same however rows come.
class RowSample {
 public:
  RowSample(std::size_t cols, std::size_t most) : cols_(cols), most_(most) {}

  bool takes(std::int64_t row) const { return hash_of(static_cast<double>(row)) <= limit_; }
  // REQUIRES: takes(row). Returns where its numbers go, valid until the next call; null if the
  // sample was full, and the row is not in what is left of it.
  double* add(std::int64_t row);

  std::size_t rows() const { return ids_.size(); }
  bool exact() const { return limit_ == std::numeric_limits<std::uint64_t>::max(); }
  // The numbers of a column that are not NaN, sorted.
  std::vector<double> sorted(std::size_t col) const;

 private:
  std::size_t cols_, most_;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::int64_t> ids_;
  std::vector<double> values_;  // row-major
};

// The quantile of sorted numbers, linear between the two nearest. REQUIRES: there are some.
double quantile(const std::vector<double>& sorted, double q);

}  // namespace meanwhile::data
