// CSV as it lies in a file: its records and their fields as bytes, to be copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

// The start of a file.
struct CsvStart {
  char delimiter = ',';                 // ' ': any run of blanks
  bool has_mark = false;                // a byte order mark
  std::string before, header;           // lines before the header; its bytes without the line end
  std::string line_end = "\n";          // that of the header
  std::vector<std::string> names = {};  // of the columns; empty: there is no header
  std::size_t fields = 0;
};

// The start of the file behind a byte order mark: its first kLookedAtBytes or, if `whole`, all of
// it. THROWS BadText.
CsvStart csv_start(std::string_view text, bool whole, std::size_t header_bytes,
                   const std::string& name, const ReadOptions& options);

// The fields of a record, with the quotes and blanks around them.
void split_bytes(std::string_view record, char delimiter, std::vector<std::string_view>& fields);

// Calls record(bytes, line end) for every record of whole records, and other(bytes) for the lines
// between them: empty ones, and comments. The rule is that of next_record().
template <class Record, class Other>
void for_records(std::string_view text, const Record& record, const Other& other) {
  const bool quotes = text.find('"') != text.npos;
  const char* p = text.data();
  const char* const end = p + text.size();
  const auto line_end = [end](const char* at) {
    const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    return found == nullptr ? end : static_cast<const char*>(found);
  };
  while (p < end) {
    const char* stop = line_end(p);
    const char* first = p;
    while (first < stop && is_blank(*first)) ++first;
    if (*p == '#' || first == stop) {
      stop = std::min(stop + 1, end);
      other(std::string_view(p, static_cast<std::size_t>(stop - p)));
      p = stop;
      continue;
    }
    if (quotes) {
      for (const char* from = p;;) {
        // An odd number of quotes: the line end is between two of them.
        const bool odd = std::count(from, stop, '"') % 2 != 0;
        if (from == p ? !odd : odd) break;
        if (stop == end) break;
        from = stop + 1;
        stop = line_end(from);
      }
    }
    const char* last = stop;
    if (last > p && last[-1] == '\r') --last;
    const char* const next = std::min(stop + 1, end);
    record(std::string_view(p, static_cast<std::size_t>(last - p)),
           std::string_view(last, static_cast<std::size_t>(next - last)));
    p = next;
  }
}

}  // namespace meanwhile::data
