// The layout of a CSV file, found from the start of it: delimiter, header, and what each field is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/files/match_table.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

struct CsvLayout {
  char delimiter = ',';            // ' ': any run of blanks
  std::vector<std::string> names;  // one a field, or empty: the file has no header
  std::vector<TableField> fields;
  bool label_is_word = false;
  std::size_t header_bytes = 0;  // before the first row
  // The columns that raw rows hold: those of this file, or those of the model.
  TableSchema table;
  std::vector<std::string> notes;

  std::size_t features() const;
  // The field as options name it: 'name', or its number from 0.
  std::string field_name(std::size_t field) const;
  // Its place in a line for a message: "field 6 (cut)".
  std::string field_place(std::size_t field) const;
};

// The layout of a file that begins with `text`, its first kLookedAtBytes or, if `whole`, all of it;
// absent if it has no record. csv_kinds.h says how kinds and a header are recognised. THROWS
// Error(kUsage) for a column that does not exist, naming those that do; Error(kInput) for columns
// that the model needs and the file lacks, and for names that occur twice; BadText.
std::optional<CsvLayout> csv_layout(std::string_view text, bool whole, const ReadOptions& options);

// A record is a line, or several lines if line ends stand between quotes. Empty lines and lines
// that begin with # belong to no record.
struct CsvRecord {
  std::size_t begin, end;  // `end`: behind the line end, or the end of the text
};
// The first record at or after `at`; absent if the text ends before the record does. `last`: the
// end of the text ends the record.
std::optional<CsvRecord> next_record(std::string_view text, std::size_t at, bool last);

// The fields of a record without blanks and quotes around them. THROWS BadText with an offset in
// `text`.
std::vector<std::string> split_record(std::string_view text, const CsvRecord& record,
                                      char delimiter);

// Where a chunk of CSV may be cut: behind the last line end that is not between quotes.
std::size_t cut_csv(std::string_view text);

}  // namespace meanwhile::data
