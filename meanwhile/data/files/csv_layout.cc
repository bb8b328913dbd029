#include "meanwhile/data/files/csv_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

bool is_number(const std::string& field) {
  double value = 0;
  const char* const end = field.data() + field.size();
  return !field.empty() && detail::from_chars(field.data(), end, value) == end;
}

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

char find_delimiter(std::string_view record) {
  for (const char delimiter : {',', '\t', ';', ' '}) {
    bool open = false;
    for (const char c : record) {
      open ^= c == '"';
      if (c == delimiter && !open) return delimiter;
    }
  }
  return ',';
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

std::optional<std::int64_t> as_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string known_columns(const std::vector<std::string>& names, std::size_t fields) {
  if (names.empty()) {
    return fmt::format("the file has no header; columns are 0 to {} or -{} to -1", fields - 1,
                       fields);
  }
  constexpr std::size_t kMost = 20;
  return fmt::format("known are {}{}",
                     list_text(std::span(names).first(std::min(kMost, names.size()))),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

// A name of the header takes precedence over a number.
// `parameter` names the column in messages.
std::size_t find_column(const std::string& parameter, const std::string& column,
                        const std::vector<std::string>& names, std::size_t fields) {
  const auto count = std::count(names.begin(), names.end(), column);
  if (count > 1) {
    throw Error(ErrorKind::kUsage, "{} {}: {} columns have that name; give a number from 0",
                parameter, column, count);
  }
  if (count == 1) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), column) - names.begin());
  }
  if (const auto number = as_integer(column)) {
    const auto all = static_cast<std::int64_t>(fields);
    if (*number < all && *number >= -all) {
      return static_cast<std::size_t>(*number < 0 ? *number + all : *number);
    }
    throw Error(ErrorKind::kUsage, "{} {}: the file has {} columns: 0 to {} or -{} to -1",
                parameter, column, fields, fields - 1, fields);
  }
  throw Error(ErrorKind::kUsage, "{} {}: no such column; {}", parameter, column,
              known_columns(names, fields));
}

std::vector<CsvRole> find_roles(const ReadOptions& options, const std::vector<std::string>& names,
                                std::size_t fields) {
  std::vector<CsvRole> roles(fields, CsvRole::kFeature);
  const auto give = [&](const char* name, const std::string& column, CsvRole role) {
    const std::string parameter = base::parameter(name);
    CsvRole& old = roles[find_column(parameter, column, names, fields)];
    if (old != CsvRole::kFeature && old != role) {
      throw Error(ErrorKind::kUsage, "{} {}: the column has another use already", parameter,
                  column);
    }
    old = role;
  };
  if (!options.label_column.empty()) give("label_column", options.label_column, CsvRole::kLabel);
  if (!options.weight_column.empty()) {
    give("weight_column", options.weight_column, CsvRole::kWeight);
  }
  for (const std::string& column : options.ignore_columns) {
    give("ignore_column", column, CsvRole::kIgnore);
  }
  return roles;
}

bool asks_for_names(const ReadOptions& options) {
  const auto is_name = [](const std::string& column) {
    return !column.empty() && !as_integer(column);
  };
  return is_name(options.label_column) || is_name(options.weight_column) ||
         std::any_of(options.ignore_columns.begin(), options.ignore_columns.end(), is_name);
}

bool looks_like_header(const std::vector<std::string>& first,
                       const std::vector<std::string>& second, const std::vector<CsvRole>& roles) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].empty() || is_number(first[i]) || roles[i] == CsvRole::kIgnore) continue;
    if (roles[i] != CsvRole::kLabel) return true;
    if (i < second.size() && is_number(second[i])) return true;
  }
  return false;
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
        throw BadText{p, fmt::format("found {} behind a closing quote, expected a delimiter",
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

std::optional<CsvLayout> csv_layout(std::string_view text, const ReadOptions& options) {
  const auto first = next_record(text, 0, true);
  if (!first) return std::nullopt;
  CsvLayout layout;
  layout.delimiter = options.delimiter;
  if (options.delimiter == 0) {
    layout.delimiter = find_delimiter(text.substr(first->begin, first->end - first->begin));
  }
  check_delimiter(layout.delimiter);
  const auto top = split_record(text, *first, layout.delimiter);
  const auto second = next_record(text, first->end, true);
  // The parser will report errors in the second record: it is a row.
  std::vector<std::string> below;
  try {
    if (second) below = split_record(text, *second, layout.delimiter);
  } catch (const BadText&) {
  }
  const bool header = options.header.has_value() ? *options.header
                      : asks_for_names(options)
                          ? true
                          : looks_like_header(top, below, find_roles(options, {}, top.size()));
  if (header) {
    layout.names = top;
    layout.header_bytes = first->end;
    for (const std::string& name : top) {
      if (!is_utf8(name)) {
        throw BadText{first->begin,
                      fmt::format("found the column name {}, expected UTF-8", in_quotes(name))};
      }
    }
  }
  layout.roles = find_roles(options, layout.names, top.size());
  const auto label = std::find(layout.roles.begin(), layout.roles.end(), CsvRole::kLabel);
  if (label != layout.roles.end()) {
    const auto field = static_cast<std::size_t>(label - layout.roles.begin());
    const std::vector<std::string>& row = header ? below : top;
    layout.label_is_word = field < row.size() && !row[field].empty() && !is_number(row[field]);
  }
  return layout;
}

std::vector<std::string> CsvLayout::feature_names() const {
  std::vector<std::string> features;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (roles[i] == CsvRole::kFeature) features.push_back(names[i]);
  }
  return features;
}

std::size_t CsvLayout::features() const {
  return static_cast<std::size_t>(std::count(roles.begin(), roles.end(), CsvRole::kFeature));
}

std::string CsvLayout::field_name(std::size_t field) const {
  return names.empty() || names[field].empty() ? fmt::format("{}", field) : names[field];
}

}  // namespace meanwhile::data
