// The rows of one chunk of text, which a parser fills and a sink takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/table/levels.h"
#include "meanwhile/data/table/short_cells.h"

namespace meanwhile::data {

// Words numbered in order of first appearance.
class WordTable {
 public:
  std::int64_t index(std::string_view word) {
    const auto found = index_.find(word);
    if (found != index_.end()) return found->second;
    const auto next = static_cast<std::int64_t>(words_.size());
    index_.emplace(word, next);
    words_.emplace_back(word);
    return next;
  }
  const std::vector<std::string>& words() const { return words_; }
  void clear() {
    index_.clear();
    words_.clear();
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> index_;
  std::vector<std::string> words_;
};

// Reused from chunk to chunk. The buffers are large enough before a parser writes, so it makes no
// checks; `rows` and `stored` count how much of them is in use.
template <class T>
struct RowChunk {
  std::size_t rows = 0;
  std::size_t stored = 0;        // values
  std::int64_t lines = 0;        // line ends in the text
  std::int64_t max_column = -1;  // sparse: the largest in `columns`
  bool labelled = false, weighted = false;
  UnknownWords unknown;  // in its text

  base::Buffer<T> values;                // dense: rows x columns
  base::Buffer<std::int32_t> columns;    // sparse: one a value
  base::Buffer<std::int64_t> row_end;    // sparse: values of the chunk up to the end of each row
  base::Buffer<double> labels, weights;  // one a row
  WordTable words;                       // not empty: labels are indices into it
  // Raw rows of a table: what was counted, and, once the chunk has a place, the numbers of its
  // levels in the whole data set (TableCounts::add).
  TableCounts table;
  std::vector<std::vector<std::uint32_t>> table_numbers;
  std::vector<ShortCells<T>> short_cells;  // by feature; for parsers, which number levels by chunk
  // Not empty: row i is row row_number[i] of the file, and the rows between are empty.
  std::vector<std::int64_t> row_number;

  // Removes the rows and makes the buffers fit `most_rows` rows and `most_values` values.
  void clear(std::size_t most_rows, std::size_t most_values, bool sparse) {
    rows = stored = 0;
    lines = 0;
    max_column = -1;
    unknown = {};
    labelled = weighted = false;
    words.clear();
    table.clear();
    table_numbers.clear();
    row_number.clear();
    for (ShortCells<T>& cells : short_cells) cells.clear();
    const auto fit = [](auto& buffer, std::size_t size) {
      if (buffer.size() < size) buffer.resize(size);
    };
    fit(values, most_values);
    if (sparse) fit(columns, most_values);
    if (sparse) fit(row_end, most_rows);
    fit(labels, most_rows);
    fit(weights, most_rows);
  }
};

}  // namespace meanwhile::data
