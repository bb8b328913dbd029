// Rows of tables as they are asked for, read and changed.
//
//   Wants   the rows that a shard reads in a round
//   View    these rows, as they were when the round began
//   Delta   what the shard adds to rows, whichever they are
//
// A row travels as a number of pairs, their columns and their values, or as -1 and all values,
// whichever is shorter.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/tables/slices.h"
#include "meanwhile/tables/table.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::tables {

class Wants {
 public:
  explicit Wants(std::size_t tables) : rows_(tables) {}

  // In any order, twice or not.
  void add(int table, std::int64_t row) { rows_[static_cast<std::size_t>(table)].push_back(row); }
  // Ascending, each once, from here on.
  void settle();

  std::span<const std::int64_t> rows(int table) const {
    return rows_[static_cast<std::size_t>(table)];
  }

 private:
  std::vector<std::vector<std::int64_t>> rows_;
};

// Where the values of a row lie. `columns` is null where all values are there.
struct RowValues {
  const std::byte* values = nullptr;  // aligned for its type; null: the row is zero
  const std::int32_t* columns = nullptr;
  std::int32_t count = 0;  // pairs; of a row with all values: its width
};

// A row of a sparse table: columns ascending.
template <class T>
struct SparseRow {
  std::span<const std::int32_t> columns;
  std::span<const T> values;
};

// Memory for rows that came by a message. What it gave stays where it is.
class RowArena {
 public:
  std::byte* take(std::size_t bytes);  // aligned to 8
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kChunk = 256 << 10;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t used_ = kChunk, bytes_ = 0;
};

// Rows that a worker holds for some shards. Borrows from the slices that are here.
struct HeldRows {
  struct OfTable {
    std::vector<std::int64_t> rows;  // ascending
    std::vector<RowValues> values;
  };
  std::vector<OfTable> tables;
  RowArena arena;
  std::vector<std::byte> zeros;  // of the widest row
  std::vector<std::shared_ptr<const void>> alive;

  // REQUIRES: the row is held.
  const RowValues& find(int table, std::int64_t row) const;
};

// The rows that work() reads. Thread safety: const.
class View {
 public:
  View(std::span<const Table> tables, const HeldRows& held) : tables_(tables), held_(&held) {}

  // A row of a table that is not sparse. REQUIRES: the shard wanted it; T is the type of its
  // numbers. Costs a search among the rows held.
  template <class T>
  std::span<const T> row(int table, std::int64_t row) const {
    const Table& of = tables_[static_cast<std::size_t>(table)];
    assert(!of.sparse && holds<T>(of.number));
    const RowValues& found = held_->find(table, row);
    const std::byte* const at = found.values != nullptr ? found.values : held_->zeros.data();
    return {reinterpret_cast<const T*>(at), static_cast<std::size_t>(of.width)};
  }
  template <class T>
  SparseRow<T> sparse_row(int table, std::int64_t row) const {
    assert(tables_[static_cast<std::size_t>(table)].sparse &&
           holds<T>(tables_[static_cast<std::size_t>(table)].number));
    const RowValues& found = held_->find(table, row);
    const auto count = static_cast<std::size_t>(found.count);
    return {{found.columns, count}, {reinterpret_cast<const T*>(found.values), count}};
  }

 private:
  std::span<const Table> tables_;
  const HeldRows* held_;
};

// Changes of a shard to the rows of a slice: rows ascending, each as its number and its values.
struct SealedDelta {
  int table = 0, slice = 0;
  transport::Bytes rows;
};

// Thread safety: none; a delta is filled by one thread.
class Delta {
 public:
  explicit Delta(std::span<const Table> tables) : tables_(tables), of_(tables.size()) {}

  // Adds to one value. T is the type of the table's numbers.
  template <class T>
  void add(int table, std::int64_t row, std::int32_t column, T by) {
    assert(fits<T>(table, row) && column >= 0 && column < width(table));
    Entry entry{row, column, {}};
    std::memcpy(entry.value, &by, sizeof(T));
    of_[static_cast<std::size_t>(table)].entries.push_back(entry);
  }
  // Adds to all values of a row.
  template <class T>
  void add_row(int table, std::int64_t row, std::span<const T> by) {
    assert(fits<T>(table, row) && static_cast<std::int32_t>(by.size()) == width(table));
    OfTable& of = of_[static_cast<std::size_t>(table)];
    of.rows.push_back({row, of.values.size()});
    const auto bytes = std::as_bytes(by);
    of.values.insert(of.values.end(), bytes.begin(), bytes.end());
  }

  std::size_t bytes() const;

  // By slice, and cleared. Whole rows of a row are added first, then single values, each in the
  // order of the calls. THROWS Error(kFailed) when a sum is too large for its type.
  std::vector<SealedDelta> seal(std::span<const Slices> slices);

 private:
  struct Entry {
    std::int64_t row;
    std::int32_t column;
    std::byte value[8];
  };
  struct WholeRow {
    std::int64_t row;
    std::size_t at;  // in `values`
  };
  struct OfTable {
    std::vector<Entry> entries;
    std::vector<WholeRow> rows;
    std::vector<std::byte> values;
  };
  std::int32_t width(int table) const { return tables_[static_cast<std::size_t>(table)].width; }
  template <class T>
  bool fits(int table, std::int64_t row) const {
    const Table& of = tables_[static_cast<std::size_t>(table)];
    return holds<T>(of.number) && row >= 0 && row < of.rows;
  }
  template <class T>
  void seal(int table, const Slices& slices, std::vector<SealedDelta>& sealed);

  std::span<const Table> tables_;
  std::vector<OfTable> of_;
};

// a + b. THROWS Error(kFailed) when an integer overflows.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    T sum;
    if (__builtin_add_overflow(a, b, &sum)) {
      throw base::Error(base::ErrorKind::kFailed, "a number of a table is too large for {} bytes",
                        sizeof(T));
    }
    return sum;
  }
}

// A row as it travels. `of` without columns is a whole row; zeros are left out where that is
// shorter.
void put_row(transport::Packer& to, const Table& table, const RowValues& of);
// The same for what is not zero, columns ascending.
template <class T>
void put_pairs(transport::Packer& to, const Table& table, std::span<const std::int32_t> columns,
               std::span<const T> values);
// Reads a row. Its form is that of the table: all values, or pairs. THROWS Error(kFailed) when it
// is no row of the table.
RowValues get_row(transport::Unpacker& from, const Table& table, RowArena& arena);

}  // namespace meanwhile::tables
