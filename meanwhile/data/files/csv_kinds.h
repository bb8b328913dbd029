// Kinds of the columns of a CSV file, found from its first part. The start of a file is the same
// for every worker, so all of them find the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The bytes of a file that are looked at, and the most records.
inline constexpr std::size_t kLookedAtBytes = std::size_t{1} << 20;
inline constexpr std::int64_t kLookedAtRecords = 10'000;

// The cells of one column, counted by what they could be.
struct CellCounts {
  std::int64_t missing = 0, numbers = 0, booleans = 0, dates = 0, words = 0;
  bool decimal_commas = true;  // every word is a number with a comma for a point
  // Range of the numbers, and the largest change that float32 would make.
  double low = 0, high = 0, changed = 0;
  bool counts_up = true;  // 0, 1, 2, ...: an index

  void add(const std::string& cell);
  void add_number(double number);
  std::int64_t values() const { return numbers + booleans + dates + words; }
};

// The kind of a column with these cells. Numbers with some words among them are numbers: the parser
// will say where the first word is. All missing: numbers.
ColumnKind kind_of(const CellCounts& cells);

struct CsvLook {
  std::vector<CellCounts> columns;  // of the records behind the first
  std::vector<std::string> first;   // the cells of the first record
  std::vector<bool> recurs;         // by column: the first record's cell is there again
  std::int64_t records = 0;         // behind the first
};
// Looks at the records of `text`, the last of which may be cut off unless `whole`. REQUIRES: there
// is a first record. THROWS BadText if the first record cannot be split.
CsvLook look_at_csv(std::string_view text, bool whole, char delimiter);

// Whether the first record holds names: one of its cells is a word where the column holds numbers,
// dates or truth values; or every cell of a table of words is a word that its column does not hold.
// `ignored`: columns that do not count.
bool looks_like_header(const CsvLook& look, const std::vector<bool>& ignored);

// The delimiter of the records of `text`: the one of , tab ; blank that most evenly divides the
// first ones.
char find_delimiter(std::string_view text, bool whole);

}  // namespace meanwhile::data
