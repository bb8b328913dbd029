#include "meanwhile/data/files/csv_records.h"

#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::data {

CsvStart csv_start(std::string_view text, bool whole, std::size_t header_bytes,
                   const std::string& name, const ReadOptions& options) {
  CsvStart start;
  const bool tabs = uncompressed_name(name).extension() == ".tsv";
  start.delimiter = options.delimiter != 0 ? options.delimiter
                    : tabs                 ? '\t'
                                           : find_delimiter(text, whole);
  const auto first = next_record(text, 0, true);
  if (!first) return start;
  const auto cells = split_record(text, *first, start.delimiter);
  start.fields = cells.size();
  if (header_bytes == 0) return start;
  start.names = cells;
  start.before = text.substr(0, first->begin);
  const auto keep = [&](std::string_view header, std::string_view line_end) {
    start.header = header;
    if (!line_end.empty()) start.line_end = line_end;
  };
  for_records(text.substr(first->begin, first->end - first->begin), keep, [](std::string_view) {});
  return start;
}

void split_bytes(std::string_view record, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  const bool blanks = delimiter == ' ';
  const auto separates = [&](char c) { return blanks ? is_blank(c) : c == delimiter; };
  std::size_t p = 0;
  for (;;) {
    while (blanks && p < record.size() && is_blank(record[p])) ++p;
    if (blanks && p == record.size() && !fields.empty()) return;
    const std::size_t begin = p;
    bool open = false;
    for (; p < record.size() && (open || !separates(record[p])); ++p) open ^= record[p] == '"';
    fields.push_back(record.substr(begin, p - begin));
    if (p == record.size()) return;
    ++p;
  }
}

}  // namespace meanwhile::data
