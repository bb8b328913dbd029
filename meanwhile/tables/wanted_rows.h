// Rows that are wanted, by the slices that they lie in: what fetches rows asks slice by slice.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "meanwhile/tables/rows.h"
#include "meanwhile/tables/slice_store.h"

namespace meanwhile::tables {

// Wanted rows of a slice: where they are among those held of the table.
struct SliceRows {
  int table = 0, slice = 0;
  std::vector<std::size_t> at;
};

// Lists the rows of all these lists, which are settled, in `held`, each once, and returns where
// their values are to come from. Values of rows that `kept` has (null: none) are taken from there.
// THROWS Error(kFailed) for a row that the table does not have.
std::vector<SliceRows> list_wanted(const TableSet& set, std::span<const Wants> wants,
                                   const HeldRows* kept, HeldRows& held);

// Takes the values of these rows. With `stays` they are borrowed from the slice, which lives as
// long as `held`; otherwise copied.
void take_rows(const TableSet& set, const SliceRows& rows, std::shared_ptr<const Slice> content,
               bool stays, HeldRows& held);

// The plan: bytes of so many rows of a table that are not zero, at most, as they are held or
// travel; those of dense rows exactly, where no row has many zeros.
inline std::int64_t fetched_bytes(const Table& table, std::int64_t rows) {
  return rows * static_cast<std::int64_t>(4 + dense_row_bytes(table));
}

}  // namespace meanwhile::tables
