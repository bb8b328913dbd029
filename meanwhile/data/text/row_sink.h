// The destination of parsed rows: memory or a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/text/row_chunk.h"

namespace meanwhile::data {

// The columns of a data set, known after all rows were parsed.
struct RowsDescription {
  std::int64_t cols = 0;  // sparse: at least
  std::vector<std::string> feature_names;
  // Present: the rows are raw rows of a table (table/schema.h) with these columns.
  std::shared_ptr<const TableSchema> table = nullptr;
  std::vector<std::string> notes = {};
  bool counts_from_one = false;  // the files number their columns from 1
};

template <class T>
class RowSink {
 public:
  virtual ~RowSink() = default;

  struct Place {
    std::size_t row = 0, value = 0;
  };
  // Called for one chunk at a time, in order, so it must be quick. Renumbers the label words of the
  // chunk as words of the whole data set, reserves a place for the rows and returns it.
  virtual Place reserve(RowChunk<T>& chunk) = 0;
  // Copies the rows to their place. Called from any thread, for several chunks at once.
  virtual void put(const RowChunk<T>& chunk, const Place& place) = 0;
};

// The part of reserve() that every sink needs: words and counts.
template <class T>
struct RowTotals {
  std::size_t rows = 0, stored = 0;
  std::int64_t max_column = -1;
  bool labelled = false, weighted = false;
  UnknownWords unknown;
  WordTable words;
  TableCounts table;

  // Adds the chunk and returns where it begins.
  typename RowSink<T>::Place add(RowChunk<T>& chunk) {
    if (!chunk.words.words().empty()) {
      std::vector<double> number;
      for (const std::string& word : chunk.words.words()) {
        number.push_back(static_cast<double>(words.index(word)));
      }
      for (std::size_t i = 0; i < chunk.rows; ++i) {
        double& label = chunk.labels[i];
        if (label == label) label = number[static_cast<std::size_t>(label)];
      }
    }
    const typename RowSink<T>::Place place{rows, stored};
    chunk.table_numbers.clear();
    if (!chunk.table.empty()) {
      chunk.table_numbers = table.add(chunk.table, static_cast<std::int64_t>(rows));
    }
    rows += chunk.rows;
    stored += chunk.stored;
    max_column = std::max(max_column, chunk.max_column);
    labelled |= chunk.labelled;
    weighted |= chunk.weighted;
    unknown.add(chunk.unknown);
    return place;
  }
};

// Numbers the levels of raw rows that were copied from the chunk to `cells` as those of the whole
// data set.
template <class T>
void renumber_levels(const RowChunk<T>& chunk, T* cells) {
  if (chunk.table_numbers.empty() || chunk.rows == 0) return;
  renumber(cells, chunk.rows, chunk.table.missing.size(), chunk.table.categories,
           chunk.table_numbers);
}

}  // namespace meanwhile::data
