// Keys of rows by content. Two rows are equal if they hold the same numbers: the same label and the
// same values in the same columns, where -0 is 0 and a zero that a sparse row stores is one that it
// leaves out. The key of a row is the XXH3-128 of its label, the columns of its values that are not
// zero and these values as float64, so float32 and float64, dense and sparse rows of the same
// numbers have the same key. A weight is no part of it. Rows of one key that are not equal are told
// apart by compare_rows().
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

struct ContentKey {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const ContentKey&) const = default;
  // `shards` divides the lower half; rows of a shard are ordered by the upper half first.
  int shard(int shards) const { return static_cast<int>(low % static_cast<std::uint64_t>(shards)); }
  // In [0, 1).
  double uniform() const { return static_cast<double>(high >> 11) * 0x1p-53; }
};

// A sum of hashes, one for each row and its weight: the same for every order of the rows. It is a
// guard against mistakes, not against an attacker who wants two data sets to look alike.
struct ContentSum {
  std::array<std::uint64_t, 4> words{};
  void add(const ContentSum& other);  // modulo 2^256
  bool operator==(const ContentSum&) const = default;
};

// Makes the keys of rows. Borrows the data. Thread safety: one thread.
class ContentKeys {
 public:
  ContentKeys(const Dataset& data, std::uint64_t seed) : data_(&data), seed_(seed) {}

  ContentKey operator()(std::int64_t row);
  // The term of a row with this weight, for a ContentSum.
  ContentSum term(std::int64_t row, double weight);

 private:
  // Puts a weight, and what the row holds, into bytes_.
  void put(std::int64_t row, double weight);

  const Dataset* data_;
  std::uint64_t seed_;
  std::vector<std::byte> bytes_;
  std::vector<std::int32_t> columns_;
  std::vector<double> values_;
};

// An order of rows by what they hold; equal rows are those that hold the same.
std::strong_ordering compare_rows(const Dataset& data, std::int64_t a, std::int64_t b);

}  // namespace meanwhile::data
