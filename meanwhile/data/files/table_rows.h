// Cells of a table as a raw row of a chunk (table/schema.h), whatever format they were read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/table/levels.h"
#include "meanwhile/data/table/schema.h"
#include "meanwhile/data/table/short_cells.h"
#include "meanwhile/data/text/row_chunk.h"

namespace meanwhile::data {

// Whether rows of a table that lack a value are left out.
inline bool drops_rows(const ReadOptions& options, Missing missing) {
  const bool fills = missing != Missing::kError && missing != Missing::kDrop;
  return options.incomplete == Incomplete::kDrop
             ? !fills
             : missing == Missing::kDrop && options.incomplete == Incomplete::kAsTrained;
}

// Makes the rows of a table. Thread safety: immutable; a Row belongs to one thread.
template <class T>
class TableRows {
 public:
  struct Roles {
    bool labelled = false, weighted = false;
    bool label_is_word = false;
  };
  TableRows(const TableSchema& table, const Roles& roles, bool drop) : roles_(roles), drop_(drop) {
    const auto all = features(table);
    counts_.missing.resize(all.size());
    for (std::uint32_t f = 0; f < all.size(); ++f) {
      slot_.push_back(static_cast<std::uint32_t>(counts_.categories.size()));
      if (all[f]->kind == ColumnKind::kCategory) counts_.categories.push_back(f);
    }
    counts_.levels.resize(counts_.categories.size());
  }

  // The row that is being made.
  struct Row {
    RowChunk<T>& rows;
    T* cells;
    std::string_view label = {};  // if it is a word
    std::string scratch = {};     // for who must keep it
    bool incomplete = false;      // it lacks a value
  };

  // Clears the chunk for at most so many rows, and begins the first.
  Row begin(RowChunk<T>& rows, std::size_t most_rows, std::size_t most_cells) const {
    rows.clear(most_rows, most_cells + counts_.missing.size(), false);
    if (rows.table.missing.size() != counts_.missing.size() ||
        rows.table.categories != counts_.categories) {
      rows.table = counts_;
    }
    rows.short_cells.resize(counts_.missing.size());
    rows.labelled = roles_.labelled;
    rows.weighted = roles_.weighted;
    return {rows, rows.values.data()};
  }

  void put_missing(Row& row, std::uint32_t feature) const {
    row.cells[feature] = std::numeric_limits<T>::quiet_NaN();
    count(row, row.rows.table.missing[feature]);
  }
  // Returns whether the level is new in the chunk.
  bool put_level(Row& row, std::uint32_t feature, std::string_view level) const {
    LevelTable& table = row.rows.table.levels[slot_[feature]];
    const std::size_t known = table.size();
    row.cells[feature] = static_cast<T>(table.index(level));
    return table.size() > known;
  }
  LevelTable& levels(Row& row, std::uint32_t feature) const {
    return row.rows.table.levels[slot_[feature]];
  }
  // A cell that remember() was told of; false if there is none.
  bool put_known(Row& row, std::uint32_t feature, bool category, const ShortText& text) const {
    const T* const known = row.rows.short_cells[feature].find(text);
    if (known == nullptr) return false;
    row.cells[feature] = *known;
    if (*known != *known) {
      count(row, row.rows.table.missing[feature]);
    } else if (category) {
      levels(row, feature).count_again(static_cast<std::size_t>(*known));
    }
    return true;
  }
  // REQUIRES: the cell was put just now, and put_known() did not know it.
  void remember(Row& row, std::uint32_t feature, const ShortText& text) const {
    row.rows.short_cells[feature].add(text, row.cells[feature]);
  }
  // A missing label is NaN, or no word.
  void put_missing_label(Row& row) const {
    row.label = {};
    row.rows.labels[row.rows.rows] = std::numeric_limits<double>::quiet_NaN();
    count(row, row.rows.table.missing_labels);
  }

  // Keeps the row, or takes back what was counted of it; the next one begins.
  void end(Row& row) const {
    RowChunk<T>& rows = row.rows;
    if (row.incomplete && drop_) [[unlikely]] {
      for (std::size_t c = 0; c < counts_.categories.size(); ++c) {
        const T cell = row.cells[counts_.categories[c]];
        if (cell == cell) rows.table.levels[c].take_back(static_cast<std::size_t>(cell));
      }
      ++rows.table.dropped;
    } else {
      if (roles_.label_is_word) {
        rows.labels[rows.rows] = row.label.empty()
                                     ? std::numeric_limits<double>::quiet_NaN()
                                     : static_cast<double>(rows.words.index(row.label));
      }
      row.cells += counts_.missing.size();
      ++rows.rows;
    }
    row.incomplete = false;
  }
  // REQUIRES: called last.
  void finish(const Row& row) const {
    row.rows.stored = static_cast<std::size_t>(row.cells - row.rows.values.data());
  }

 private:
  static void count(Row& row, MissingCells& cells) {
    row.incomplete = true;
    if (cells.count++ == 0) cells.first_row = static_cast<std::int64_t>(row.rows.rows);
  }

  Roles roles_;
  bool drop_;                        // rows that lack a value
  TableCounts counts_;               // without any row
  std::vector<std::uint32_t> slot_;  // by feature: its number among the categories
};

}  // namespace meanwhile::data
