// Counts made of a table while its rows are read: levels of categories, missing cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

// The most levels of a column that are told apart. A column with more is an id or a text, and the
// table of its levels would take all memory.
inline constexpr std::size_t kMostLevels = 1'000'000;

// Levels numbered in order of first appearance, and how often each occurs.
class LevelTable {
 public:
  // The number of the level, which is added when it is new.
  std::uint32_t index(std::string_view level, std::int64_t times = 1);

  void count_again(std::size_t i) { ++entries_[i].count; }
  // Counts level i once less. A level that does not occur stays known.
  void take_back(std::size_t i) { --entries_[i].count; }

  std::size_t size() const { return entries_.size(); }
  std::string_view level(std::size_t i) const {
    return std::string_view(bytes_).substr(entries_[i].begin, entries_[i].size);
  }
  std::int64_t count(std::size_t i) const { return entries_[i].count; }
  void clear();

 private:
  struct Entry {
    std::size_t begin, size;  // in bytes_
    std::uint64_t hash;
    std::int64_t count;
  };
  void grow();

  std::vector<Entry> entries_;
  std::string bytes_;
  std::vector<std::uint32_t> slots_;  // number of a level + 1, or 0
};

// Cells of one feature that were missing.
struct MissingCells {
  std::int64_t count = 0;
  std::int64_t first_row = -1;
};

// The counts of a chunk of rows, of a worker's rows, or of all rows.
struct TableCounts {
  std::vector<MissingCells> missing;      // by feature
  std::vector<std::uint32_t> categories;  // the features that are categories
  std::vector<LevelTable> levels;         // one for each of `categories`
  std::int64_t dropped = 0;               // rows that were left out
  MissingCells missing_labels;

  bool empty() const { return missing.empty(); }
  // Begins again, with the same features.
  void clear();
  // Adds the counts of rows that follow, the first of which is row `first_row`. Returns, for each
  // category, what the numbers of its levels in `more` are here. Levels that do not occur are left
  // out. THROWS Error(kInput) when a column has more than kMostLevels.
  std::vector<std::vector<std::uint32_t>> add(const TableCounts& more, std::int64_t first_row);
};

// Turns the numbers of levels in `rows` raw rows of `width` cells into those of `numbers`, as
// TableCounts::add() returned them.
template <class T>
void renumber(T* cells, std::size_t rows, std::size_t width,
              const std::vector<std::uint32_t>& categories,
              const std::vector<std::vector<std::uint32_t>>& numbers) {
  for (std::size_t c = 0; c < categories.size(); ++c) {
    T* cell = cells + categories[c];
    const std::uint32_t* const to = numbers[c].data();
    for (std::size_t row = 0; row < rows; ++row, cell += width) {
      if (*cell == *cell) *cell = static_cast<T>(to[static_cast<std::uint32_t>(*cell)]);
    }
  }
}

}  // namespace meanwhile::data
