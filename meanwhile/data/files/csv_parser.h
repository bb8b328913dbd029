// The parser of CSV is one loop over fields. A field of a number is nearly always bare, and is
// parsed where it stands; everything else (quotes, words, mistakes) is handled out of line.
//
// Invariants: a field takes at least one byte, that of its delimiter or line end, and a row at
// least two, so the buffers of a chunk are large enough beforehand; the '\n' at the end of it
// ends every loop that is not inside quotes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/table_rows.h"
#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

// The parser of one file. kBlanks: fields are separated by runs of blanks.
template <class T, bool kBlanks>
class CsvParser : public TextParser<T> {
 public:
  CsvParser(CsvLayout layout, bool drop)
      : layout_(std::move(layout)),
        delimiter_(layout_.delimiter),
        table_(layout_.table,
               {has_role(ColumnRole::kLabel), has_role(ColumnRole::kWeight), layout_.label_is_word},
               drop) {
    for (const TableField& field : layout_.fields) {
      numbers_.push_back(field.role == ColumnRole::kFeature && field.kind == ColumnKind::kNumber);
    }
  }

  std::size_t cut(std::string_view text) const override { return cut_csv(text); }

  void parse(std::string_view text, RowChunk<T>& rows) const override {
    Row row = table_.begin(rows, text.size() / 2 + 1, text.size());
    const TableField* const layout = layout_.fields.data();
    const std::size_t fields = layout_.fields.size();
    const char* const end = text.data() + text.size();

    for (const char* p = text.data(); p < end; ++p, ++rows.lines) {  // p: start, then end of a line
      if (*p == '#') {
        p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
        continue;
      }
      const char* const line = p;
      p = data::skip_blanks(p);
      if (*p == '\n') continue;
      p = skip_blanks(line);
      for (std::size_t field = 0;; ++field) {
        if (field == fields) [[unlikely]]
          ragged(text, line);
        const char* after = nullptr;
        if (numbers_[field] != 0) {
          T& value = row.cells[layout[field].feature];
          after = parse_number(p, end, value);
          if (after == nullptr) [[unlikely]]
            after = hard_cell(text, p, field, row, value);
        } else {
          after = other_field(text, p, field, row);
        }
        // Now `p` is at the next field, or at the end of the line.
        const char* const next = skip_blanks(after);
        if (*next == '\n') {
          if (field + 1 != fields) [[unlikely]]
            ragged(text, line);
          p = next;
          break;
        }
        if (kBlanks ? next == after : *next != delimiter_) [[unlikely]] {
          bad_field(text, line, p, field);
        }
        p = kBlanks ? next : skip_blanks(next + 1);
      }
      table_.end(row);
    }
    table_.finish(row);
  }

 private:
  using Row = typename TableRows<T>::Row;

  struct Field {
    std::string_view text;  // without the quotes and blanks around it
    const char* end;        // behind the field and its closing quote
  };

  // Skips blanks that are not delimiters; all blanks if runs of blanks are the delimiter.
  const char* skip_blanks(const char* p) const {
    while (*p == ' ' || *p == '\r' || (*p == '\t' && (kBlanks || delimiter_ != '\t'))) ++p;
    return p;
  }
  bool separates(char c) const { return kBlanks ? is_blank(c) : c == delimiter_; }

  [[noreturn]] static void fail(std::string_view text, const char* at, std::string message) {
    throw BadText{static_cast<std::size_t>(at - text.data()), std::move(message)};
  }
  [[noreturn]] void fail_in(std::string_view text, const char* at, std::size_t field,
                            std::string message) const {
    throw BadText{static_cast<std::size_t>(at - text.data()), std::move(message),
                  layout_.field_place(field)};
  }

  // The field at `p`. `scratch` holds its text if quotes in it are doubled.
  Field field_at(std::string_view text, const char* p, std::string& scratch) const {
    if (*p != '"') {
      const char* const end = end_of_field(text, p);
      const char* last = end;
      while (last > p && is_blank(last[-1])) --last;
      return {{p, static_cast<std::size_t>(last - p)}, end};
    }
    const char* const limit = text.data() + text.size();
    const char* start = p + 1;
    bool whole = true;
    scratch.clear();
    for (;;) {
      const auto* quote = static_cast<const char*>(
          std::memchr(start, '"', static_cast<std::size_t>(limit - start)));
      if (quote == nullptr) {
        fail(text, p, "found a quote that is never closed, expected a closing quote");
      }
      if (whole && quote[1] != '"') {
        return {{start, static_cast<std::size_t>(quote - start)}, quote + 1};
      }
      scratch.append(start, quote);
      if (quote[1] != '"') return {scratch, quote + 1};
      scratch += '"';
      start = quote + 2;
      whole = false;
    }
  }

  bool has_role(ColumnRole role) const {
    return std::any_of(layout_.fields.begin(), layout_.fields.end(),
                       [role](const TableField& field) { return field.role == role; });
  }

  std::string_view without_blanks(std::string_view text) const {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
  }

  // Reads a number that parse_number does not take: it stands in quotes, is missing, or is not a
  // number.
  template <class V>
  [[gnu::noinline]] const char* hard_number(std::string_view text, const char* p, std::size_t field,
                                            V& value, bool& missing) const {
    std::string scratch;
    const Field found = field_at(text, p, scratch);
    const std::string_view cell = without_blanks(found.text);
    missing = is_missing(cell);
    if (missing) {
      value = std::numeric_limits<V>::quiet_NaN();
      return found.end;
    }
    const char* const last = cell.data() + cell.size();
    if (detail::parse_any_number(cell.data(), last, value) == last) return found.end;
    const std::string name = layout_.field_name(field);
    const std::string advice =
        layout_.fields[field].role == ColumnRole::kFeature
            ? fmt::format("use `categorical` {0}, `ignore_column` {0} or `label_column` {0}", name)
        : layout_.fields[field].role == ColumnRole::kLabel
            ? "the labels before it are numbers, so all must be"
            : "a weight must be one";
    fail_in(text, p, field, not_a_value(cell, type_name<V>(), advice));
  }

  [[gnu::noinline]] const char* hard_cell(std::string_view text, const char* p, std::size_t field,
                                          Row& row, T& value) const {
    if (!kBlanks && *p == delimiter_) {
      table_.put_missing(row, layout_.fields[field].feature);
      return p;
    }
    bool missing = false;
    const char* const end = hard_number(text, p, field, value, missing);
    if (missing) table_.put_missing(row, layout_.fields[field].feature);
    return end;
  }

  // A cell that is no number: nearly always one that was seen before.
  const char* feature_cell(std::string_view text, const char* p, std::size_t field,
                           Row& row) const {
    const TableField& column = layout_.fields[field];
    const bool category = column.kind == ColumnKind::kCategory;
    const auto read = [&] {
      return category ? this->category(text, p, field, row) : special_cell(text, p, field, row);
    };
    if constexpr (kBlanks) return read();
    const ShortText cell(p, delimiter_);
    // A blank at the end is not part of the cell.
    if (cell.size == 0 || cell.size > ShortText::kMost || is_blank(p[cell.size - 1])) return read();
    const char* const end = p + cell.size;
    if (table_.put_known(row, column.feature, category, cell)) return end;
    const char* const after = read();
    if (after == end) table_.remember(row, column.feature, cell);
    return after;
  }

  // The end of an unquoted field and the blanks behind it.
  const char* end_of_field(std::string_view text, const char* p) const {
    while (*p != '\n' && !separates(*p)) {
      if (*p == '"') [[unlikely]] {
        fail(text, p,
             "found a quote inside a field, expected it at the start; put the field in quotes and "
             "double the quotes inside");
      }
      ++p;
    }
    return p;
  }

  const char* category(std::string_view text, const char* p, std::size_t field, Row& row) const {
    std::string scratch;
    const Field found = field_at(text, p, scratch);
    const std::string_view level = *p == '"' ? without_blanks(found.text) : found.text;
    const std::uint32_t feature = layout_.fields[field].feature;
    if (is_missing(level)) {
      table_.put_missing(row, feature);
    } else if (table_.put_level(row, feature, level) && !is_utf8(level)) [[unlikely]] {
      fail_in(text, p, field, fmt::format("found {}, expected UTF-8", in_quotes(level)));
    }
    row.rows.lines += *p == '"' ? std::count(p, found.end, '\n') : 0;
    return found.end;
  }

  // A truth value or a date.
  const char* special_cell(std::string_view text, const char* p, std::size_t field,
                           Row& row) const {
    std::string scratch;
    const Field found = field_at(text, p, scratch);
    const std::string_view cell = without_blanks(found.text);
    const TableField& column = layout_.fields[field];
    T& value = row.cells[column.feature];
    if (is_missing(cell)) {
      table_.put_missing(row, column.feature);
      return found.end;
    }
    const bool date = column.kind == ColumnKind::kDate;
    auto number = date ? parse_date(cell) : parse_boolean(cell);
    if (!date && (cell == "0" || cell == "1")) number = cell == "1" ? 1 : 0;
    if (!number) {
      fail_in(text, p, field,
              fmt::format(
                  "found {}, expected {}; use `categorical` {}", in_quotes(cell),
                  date ? "a date such as 2024-01-31, or one with a time" : "true, false, yes or no",
                  layout_.field_name(field)));
    }
    value = static_cast<T>(*number);
    return found.end;
  }

  const char* other_field(std::string_view text, const char* p, std::size_t field, Row& row) const {
    const TableField& column = layout_.fields[field];
    switch (column.role) {
      case ColumnRole::kFeature:
        return feature_cell(text, p, field, row);
      case ColumnRole::kWeight:
        return weight(text, p, field, row);
      case ColumnRole::kLabel:
        return label(text, p, field, row);
      case ColumnRole::kIgnored:
        break;
    }
    if (*p != '"') return end_of_field(text, p);
    std::string scratch;
    const Field found = field_at(text, p, scratch);
    row.rows.lines += std::count(p, found.end, '\n');
    return found.end;
  }

  const char* weight(std::string_view text, const char* p, std::size_t field, Row& row) const {
    double& weight = row.rows.weights[row.rows.rows];
    bool missing = false;
    const char* const end = hard_number(text, p, field, weight, missing);
    if (missing) fail_in(text, p, field, "found nothing, expected a weight");
    if (weight < 0) {
      fail_in(text, p, field, fmt::format("found the weight {}, expected 0 or more", weight));
    }
    return end;
  }

  const char* label(std::string_view text, const char* p, std::size_t field, Row& row) const {
    if (!layout_.label_is_word) {
      bool missing = false;
      const char* const end = hard_number(text, p, field, row.rows.labels[row.rows.rows], missing);
      if (missing) table_.put_missing_label(row);
      return end;
    }
    const Field found = field_at(text, p, row.scratch);
    row.label = without_blanks(found.text);
    row.rows.lines += std::count(p, found.end, '\n');
    if (is_missing(row.label)) {
      table_.put_missing_label(row);
    } else if (!is_utf8(row.label)) {
      fail_in(text, p, field,
              fmt::format("found the label {}, expected UTF-8", in_quotes(row.label)));
    }
    return found.end;
  }

  // A field that does not end where its number does: "1.5abc", or something behind a quote.
  [[gnu::noinline, noreturn]] void bad_field(std::string_view text, const char* line, const char* p,
                                             std::size_t field) const {
    T value;
    bool missing = false;
    if (*p != '"') hard_number(text, p, field, value, missing);
    // split_record() has a message of its own for text behind a closing quote.
    const auto begin = static_cast<std::size_t>(line - text.data());
    split_record(text, next_record(text, begin, true).value(), delimiter_);
    fail(text, p, "found a field that does not end, expected a delimiter");
  }

  [[gnu::noinline, noreturn]] void ragged(std::string_view text, const char* line) const {
    const auto begin = static_cast<std::size_t>(line - text.data());
    const auto found =
        split_record(text, next_record(text, begin, true).value(), delimiter_).size();
    fail(text, line,
         fmt::format("found {} fields, expected {} as in the first line", found,
                     layout_.fields.size()));
  }

  const CsvLayout layout_;
  const char delimiter_;
  const TableRows<T> table_;
  std::vector<unsigned char> numbers_;  // by field: whether it is a feature that is a number
};

}  // namespace meanwhile::data
