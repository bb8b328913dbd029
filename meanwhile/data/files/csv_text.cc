// The text of one column of CSV. Records are split whole: text is long, and splitting it is little
// beside counting its words.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/text_column.h"
#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

struct Layout {
  char delimiter = ',';
  std::vector<ColumnRole> roles;
  bool label_is_word = false;
  std::size_t header_bytes = 0;
};

class CsvDocuments : public DocumentSource {
 public:
  explicit CsvDocuments(Layout layout) : layout_(std::move(layout)) {}

  std::size_t cut(std::string_view text) const override { return cut_csv(text); }
  void extract(std::string_view text, std::string& documents,
               DocumentExtras& extras) const override {
    documents.clear();
    extras.clear();
    extras.lines = std::count(text.begin(), text.end(), '\n');
    for (std::size_t at = 0;;) {
      const auto record = next_record(text, at, true);
      if (!record) return;
      const auto cells = split_record(text, *record, layout_.delimiter);
      if (cells.size() != layout_.roles.size()) {
        throw BadText{record->begin,
                      fmt::format("found {} fields, expected {} as in the first line", cells.size(),
                                  layout_.roles.size())};
      }
      for (std::size_t i = 0; i < cells.size(); ++i) {
        put(cells[i], layout_.roles[i], record->begin, documents, extras);
      }
      at = record->end;
    }
  }

 private:
  void put(const std::string& cell, ColumnRole role, std::size_t offset, std::string& documents,
           DocumentExtras& extras) const {
    switch (role) {
      case ColumnRole::kFeature:
        return add_document(cell, documents);
      case ColumnRole::kLabel:
        if (is_missing(cell)) throw BadText{offset, "found no label, expected one"};
        if (layout_.label_is_word) {
          if (!is_utf8(cell)) {
            throw BadText{offset,
                          fmt::format("found the label {}, expected UTF-8", in_quotes(cell))};
          }
          extras.label_words.push_back(cell);
        } else {
          extras.labels.push_back(number(cell, offset));
        }
        return;
      case ColumnRole::kWeight:
        extras.weights.push_back(number(cell, offset));
        if (extras.weights.back() < 0) throw BadText{offset, "found a weight below 0"};
        return;
      case ColumnRole::kIgnored:
        return;
    }
  }
  static double number(const std::string& cell, std::size_t offset) {
    double value = 0;
    const char* const end = cell.data() + cell.size();
    if (!cell.empty() && detail::parse_any_number(cell.data(), end, value) == end) return value;
    throw BadText{offset, fmt::format("found {}, expected a number", in_quotes(cell))};
  }

  const Layout layout_;
};

bool names_columns(const ReadOptions& options) {
  ReadOptions asked = options;
  asked.ignore_columns = {options.text_column};
  return asks_for_names(asked);
}

Layout layout_of(TextSource& source, const ReadOptions& options, TableSchema& columns) {
  const std::string_view text = source.head(kLookedAtBytes);
  const bool whole = text.size() < kLookedAtBytes;
  const auto first = next_record(text, 0, true);
  if (!first) throw Error(ErrorKind::kInput, "has no rows");
  Layout layout;
  layout.delimiter = options.delimiter != 0 ? options.delimiter : find_delimiter(text, whole);
  const bool tabs = uncompressed_name(source.name()).extension() == ".tsv";
  if (options.delimiter == 0 && tabs) layout.delimiter = '\t';
  CsvLook look = look_at_csv(text, whole, layout.delimiter);
  const std::size_t fields = look.first.size();
  const bool named = options.header.value_or(
      names_columns(options) || (options.schema && has_names(*options.schema)) ||
      looks_like_header(look, std::vector<bool>(fields, false)));
  const std::vector<std::string> names = named ? look.first : std::vector<std::string>();
  if (named) layout.header_bytes = first->end;
  layout.roles = text_roles(names, fields, options);
  for (std::size_t i = 0; i < fields; ++i) {
    if (!named) look.columns[i].add(look.first[i]);
    Column& column = columns.columns.emplace_back();
    if (named) column.name = names[i];
    column.role = layout.roles[i];
    if (column.role == ColumnRole::kFeature) column.kind = ColumnKind::kText;
    if (column.role != ColumnRole::kLabel) continue;
    layout.label_is_word = kind_of(look.columns[i]) != ColumnKind::kNumber;
  }
  return layout;
}

}  // namespace

TextColumnFiles csv_text_column(const ReadOptions& options) {
  TextColumnFiles files;
  files.columns = std::make_shared<TableSchema>();
  files.open = [options, columns = files.columns](TextSource& source) {
    TableSchema mine;
    Layout layout;
    try {
      layout = layout_of(source, options, mine);
    } catch (Error& error) {
      throw error.in(source.name());
    }
    source.skip(layout.header_bytes);
    if (columns->columns.empty()) *columns = mine;
    return std::make_shared<const CsvDocuments>(std::move(layout));
  };
  return files;
}

}  // namespace meanwhile::data
