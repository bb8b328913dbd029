// The cells of one column of a batch.
#pragma once

#include <arrow/array.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/table/levels.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// A cell that cannot be read; `row` counts from the start of the batch, or is -1: it is any that
// has a certain value.
struct BadCell {
  std::int64_t row;
  std::string message;
};

// A cell as a word, as CSV would write it; empty when it is missing. `scratch` may hold it.
std::string_view word_in(const arrow::Array& array, std::int64_t i, std::string& scratch);

// Cells as numbers. Truth values are 0 and 1, dates are days since 1970-01-01; text is parsed as
// `kind` says. REQUIRES: the array outlives this.
template <class T>
class NumberCells {
 public:
  // THROWS BadCell.
  NumberCells(const arrow::Array& array, ColumnKind kind);

  // Writes cells `begin` to `begin` + `count` to every `stride`-th number from `to` on: NaN for a
  // missing one. THROWS BadCell.
  void put(std::int64_t begin, std::int64_t count, T* to, std::size_t stride) const;

 private:
  template <class Array>
  void put_values(std::int64_t begin, std::int64_t count, T* to, std::size_t stride) const;
  T value(std::int64_t i) const;  // REQUIRES: cell i is not null

  const arrow::Array* array_;
  ColumnKind kind_;
  std::vector<T> values_;  // of a dictionary
};

// Cells as numbers of levels, which are counted in `levels`. REQUIRES: both outlive this.
template <class T>
class LevelCells {
 public:
  LevelCells(const arrow::Array& array, LevelTable& levels);

  // As NumberCells::put().
  void put(std::int64_t begin, std::int64_t count, T* to, std::size_t stride);

 private:
  static constexpr std::int64_t kUnknown = -2, kMissing = -1;

  std::int64_t level_of(std::int64_t i);
  std::int64_t level_of(const arrow::Array& words, std::int64_t i, std::int64_t times);

  const arrow::Array* array_;
  LevelTable* levels_;
  const arrow::DictionaryArray* codes_ = nullptr;
  std::vector<std::int64_t> known_;  // by code of the dictionary
  std::string scratch_;
};

}  // namespace meanwhile::data
