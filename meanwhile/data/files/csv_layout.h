// What the first lines of a CSV file say about the rest: delimiter, header, and which field is
// what.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

enum class CsvRole : std::uint8_t { kFeature, kLabel, kWeight, kIgnore };

struct CsvLayout {
  char delimiter = ',';            // ' ': any run of blanks
  std::vector<CsvRole> roles;      // one a field
  std::vector<std::string> names;  // one a field, or none: the file has no header
  bool label_is_word = false;      // as in the first row
  std::size_t header_bytes = 0;    // before the first row or what looks like it

  std::vector<std::string> feature_names() const;
  std::size_t features() const;
  // 'name' or the number from 0, as flags take it.
  std::string field_name(std::size_t field) const;
};

// The layout of a file that begins with `text`; nothing if it has no record. `text` holds two whole
// records (see next_record) unless the file has fewer. A first record is a header if a field of a
// feature or weight is a word in it, or if its label is a word and the second record's is a number.
// THROWS Error(kUsage) for columns that there are not, naming those that there are; BadText.
std::optional<CsvLayout> csv_layout(std::string_view text, const ReadOptions& options);

// A record is a line, or several when line ends stand between quotes. Empty lines and lines that
// begin with # belong to none.
struct CsvRecord {
  std::size_t begin, end;  // end: of the last line end or of the text
};
// The first record at or after `at`. Nothing when there is none that ends, unless `last`: then the
// end of the text ends it.
std::optional<CsvRecord> next_record(std::string_view text, std::size_t at, bool last);

// The fields of a record without blanks and quotes around them. THROWS BadText, from `text`'s
// start.
std::vector<std::string> split_record(std::string_view text, const CsvRecord& record,
                                      char delimiter);

// Where a chunk of CSV may be cut: behind the last line end that is not between quotes.
std::size_t cut_csv(std::string_view text);

}  // namespace meanwhile::data
