#include "meanwhile/data/files/csv_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/table_layout.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// The line end that ends the record at `at`: the first with an even number of quotes before it.
std::size_t record_end(std::string_view text, std::size_t at) {
  bool open = false;
  for (;;) {
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) return text.npos;
    open ^= std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                       text.begin() + static_cast<std::ptrdiff_t>(end), '"') %
                2 !=
            0;
    if (!open) return end;
    at = end + 1;
  }
}

void check_delimiter(char delimiter) {
  if (delimiter >= '0' && delimiter <= '9') {
    throw Error(ErrorKind::kUsage,
                "delimiter: found a digit, expected a character that separates numbers");
  }
  if (std::string_view("\"\n\r.+-#eE").find(delimiter) != std::string_view::npos) {
    throw Error(ErrorKind::kUsage,
                "delimiter: found {}, expected a character that separates numbers",
                in_quotes({&delimiter, 1}));
  }
}

std::vector<ColumnKind> kinds_of(const CsvLook& look) {
  std::vector<ColumnKind> kinds;
  for (const CellCounts& cells : look.columns) kinds.push_back(kind_of(cells));
  return kinds;
}

std::vector<std::string> notes_of(const CsvLayout& layout, const CsvLook& look,
                                  const ReadOptions& options) {
  std::vector<std::string> notes, coarse;
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    const CellCounts& cells = look.columns[i];
    if (layout.fields[i].role != ColumnRole::kFeature) continue;
    if (layout.fields[i].kind != ColumnKind::kNumber) continue;
    if (options.dtype == DType::kFloat32 && is_too_coarse(cells)) {
      coarse.push_back(layout.field_name(i));
    }
    if (!layout.names.empty() && layout.names[i].empty() && cells.counts_up && cells.numbers > 1) {
      notes.push_back(fmt::format(
          "column {} has no name and counts the rows; `ignore_column` {} leaves it out", i, i));
    }
  }
  if (!coarse.empty()) notes.push_back(coarse_note(coarse));
  return notes;
}

bool has_header(const CsvLook& look, const ReadOptions& options) {
  if (options.header) return *options.header;
  if (options.schema && names_features(*options.schema, look.first)) return true;
  if (asks_for_names(options)) return true;
  if (options.schema && look.records == 0) return false;  // a single row, without names
  std::vector<bool> ignored;
  for (const ColumnRole role : find_roles(options, {}, look.first.size())) {
    ignored.push_back(role == ColumnRole::kIgnored);
  }
  return looks_like_header(look, ignored);
}

}  // namespace

std::optional<CsvRecord> next_record(std::string_view text, std::size_t at, bool last) {
  while (at < text.size()) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, line_end - at);
    if (line.starts_with('#') || std::all_of(line.begin(), line.end(), is_blank)) {
      at = line_end + 1;
      continue;
    }
    const std::size_t end = record_end(text, at);
    if (end != text.npos) return CsvRecord{at, end + 1};
    if (last) return CsvRecord{at, text.size()};
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::string> split_record(std::string_view text, const CsvRecord& record,
                                      char delimiter) {
  const bool blanks = delimiter == ' ';
  const auto blank = [&](char c) { return is_blank(c) && c != delimiter; };
  const auto separates = [&](char c) { return blanks ? is_blank(c) || c == '\n' : c == delimiter; };
  std::size_t p = record.begin, end = record.end;
  while (end > p && (text[end - 1] == '\n' || is_blank(text[end - 1])) &&
         text[end - 1] != (blanks ? 0 : delimiter)) {
    --end;
  }
  std::vector<std::string> fields;
  for (;;) {
    while (p < end && (blanks ? is_blank(text[p]) : blank(text[p]))) ++p;
    std::string& field = fields.emplace_back();
    if (p < end && text[p] == '"') {
      const std::size_t start = p++;
      while (p < end && (text[p] != '"' || (p + 1 < end && text[p + 1] == '"'))) {
        field += text[p];
        p += text[p] == '"' ? 2 : 1;
      }
      if (p == end)
        throw BadText{start, "found a quote that is never closed, expected a closing quote"};
      ++p;
      while (p < end && blank(text[p]) && !separates(text[p])) ++p;
      if (p < end && !separates(text[p])) {
        throw BadText{p, fmt::format("found {} after a closing quote, expected a delimiter",
                                     in_quotes(text.substr(p, 1)))};
      }
    } else {
      for (; p < end && !separates(text[p]); ++p) field += text[p];
      while (!field.empty() && is_blank(field.back())) field.pop_back();
    }
    if (p >= end) return fields;
    ++p;
  }
}

std::size_t cut_csv(std::string_view text) {
  if (text.find('"') == text.npos) return cut_at_line(text);
  std::size_t at = 0;
  for (;;) {
    const std::size_t end =
        at < text.size() && text[at] == '#' ? text.find('\n', at) : record_end(text, at);
    if (end == text.npos) return at;
    at = end + 1;
  }
}

std::optional<CsvLayout> csv_layout(std::string_view text, bool whole, const ReadOptions& options) {
  const auto first = next_record(text, 0, true);
  if (!first) return std::nullopt;
  CsvLayout layout;
  layout.delimiter = options.delimiter != 0 ? options.delimiter : find_delimiter(text, whole);
  check_delimiter(layout.delimiter);
  CsvLook look = look_at_csv(text, whole, layout.delimiter);
  const bool header = has_header(look, options);
  if (header) {
    layout.names = look.first;
    layout.header_bytes = first->end;
    for (const std::string& name : layout.names) {
      if (!is_utf8(name)) {
        throw BadText{first->begin,
                      fmt::format("found the column name {}, expected UTF-8", in_quotes(name))};
      }
    }
  } else {
    for (std::size_t i = 0; i < look.first.size(); ++i) look.columns[i].add(look.first[i]);
  }
  if (options.schema) {
    layout.fields = match_fields(*options.schema, layout.names, look.first.size(), options);
    layout.table = *options.schema;
  } else {
    layout.fields = fields_of(kinds_of(look), layout.names, options);
    check_names(layout.names, layout.fields);
    layout.table = schema_of(layout.names, layout.fields, options.missing);
    layout.notes = notes_of(layout, look, options);
  }
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    const CellCounts& cells = look.columns[i];
    if (layout.fields[i].role == ColumnRole::kLabel) {
      layout.label_is_word = kind_of(cells) != ColumnKind::kNumber;
    }
    if (layout.fields[i].role != ColumnRole::kFeature || cells.words == 0) continue;
    if (layout.delimiter != ',' && cells.decimal_commas) {
      throw Error(ErrorKind::kInput,
                  "field {} holds numbers with decimal commas; write them with points",
                  layout.field_name(i));
    }
  }
  return layout;
}

std::size_t CsvLayout::features() const {
  return static_cast<std::size_t>(
      std::count_if(fields.begin(), fields.end(),
                    [](const TableField& field) { return field.role == ColumnRole::kFeature; }));
}

std::string CsvLayout::field_name(std::size_t field) const {
  return names.empty() || names[field].empty() ? fmt::format("{}", field) : names[field];
}

std::string CsvLayout::field_place(std::size_t field) const {
  return names.empty() || names[field].empty()
             ? fmt::format("field {} (column {})", field + 1, field)
             : fmt::format("field {} ({})", field + 1, names[field]);
}

}  // namespace meanwhile::data
