// Raw rows of a table as the rows that learners take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/table/levels.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// Encodes one row at a time. Thread safety: any number of calls at the same time.
template <class T>
class RowEncoder {
 public:
  // `counts` names the levels of raw rows; both are only read here.
  RowEncoder(const TableSchema& schema, const TableCounts& counts);

  std::size_t cells() const { return columns_.size(); }  // of a raw row
  std::int64_t cols() const { return cols_; }
  bool sparse() const { return sparse_; }
  // Whether every cell becomes the one number that it is, or its fill.
  bool keeps_cells() const;

  // Whether the schema has a value in place of every missing one.
  bool fills() const { return fills_; }
  // Whether the row lacks a value for which the schema has no fill. Such a row is encoded as zeros.
  bool is_incomplete(const T* row) const;
  // The entries that a row becomes in sparse form, those that are not zero: at most 2 * cells().
  // May write one entry more.
  std::size_t put(const T* row, std::int32_t* columns, T* values) const;
  // The number of these entries.
  std::size_t count(const T* row) const;
  // The row in dense form. REQUIRES: !sparse().
  void put(const T* row, T* values) const;

 private:
  struct Cell {
    std::int32_t first = 0;     // encoded column
    std::int32_t missing = -1;  // encoded column of the indicator, or -1
    bool category = false;
    std::vector<std::int32_t> level_at;  // by raw number: its encoded column, or -1
    T fill = 0;
  };
  // The encoded column of a level; -1 if there is none, or the cell is missing.
  static std::int32_t column_of_level(const Cell& cell, T value) {
    return value == value ? cell.level_at[static_cast<std::size_t>(value)] : -1;
  }

  std::vector<Cell> columns_;
  std::int64_t cols_ = 0;
  bool sparse_ = false, fills_ = false;
};

// The data set of all raw rows, with the names of encoded columns and the schema. `incomplete`
// lists the rows that lack a value. The memory of raw rows is given back on the way. REQUIRES:
// raw.x is dense, lies in Buffers, and no other Dataset shares them.
Dataset encode(Dataset raw, const TableSchema& schema, const TableCounts& counts,
               base::Threads threads);

}  // namespace meanwhile::data
