// Comma-separated values and their kin: raw rows of a table, one a record; csv_layout.h says what
// the start of a file decides.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/csv_parser.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/text_column.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// The start of the file: kLookedAtBytes and at least two records, or all of it.
std::string_view first_records(TextSource& source, bool& whole) {
  for (std::size_t want = kLookedAtBytes;; want *= 2) {
    const std::string_view text = source.head(want);
    whole = text.size() < want;
    if (whole) return text;
    const auto first = next_record(text, 0, false);
    if (first && next_record(text, first->end, false)) return text;
    source.check_length({});
  }
}

bool is_tab_separated(const std::filesystem::path& path) {
  return uncompressed_name(path).extension() == ".tsv";
}

// All files have the fields of the first; each may have a header.
template <class T>
class CsvFormat : public TextFormat<T> {
 public:
  explicit CsvFormat(const ReadOptions& options) : options_(options) {}
  bool sparse() const override { return false; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override;
  RowsDescription description() const override {
    return {static_cast<std::int64_t>(layout_.features()),
            {},
            std::make_shared<const TableSchema>(layout_.table),
            layout_.notes};
  }

 private:
  const ReadOptions options_;
  std::string first_file_;
  CsvLayout layout_;   // of first_file_
  ReadOptions later_;  // for the files behind it
};

template <class T>
std::shared_ptr<const TextParser<T>> CsvFormat<T>::open(TextSource& source) {
  std::optional<CsvLayout> layout;
  ReadOptions options = first_file_.empty() ? options_ : later_;
  if (options.delimiter == 0 && is_tab_separated(source.name())) options.delimiter = '\t';
  try {
    bool whole = false;
    const std::string_view text = first_records(source, whole);
    layout = csv_layout(text, whole, options);
  } catch (Error& error) {
    // Files of one table have the same columns, in any order where they have names.
    if (!first_file_.empty() && !options_.schema) {
      error.in("its columns are not those of " + first_file_);
    }
    throw error.in(source.name());
  }
  if (!layout) throw Error(ErrorKind::kInput, "{}: has no rows", source.name());
  if (first_file_.empty()) {
    if (layout->features() == 0) {
      throw Error(ErrorKind::kUsage, "{}: no column is left for the features", source.name());
    }
    first_file_ = source.name();
    layout_ = *layout;
    later_ = options_;
    if (!options_.schema) {
      // Files without a header have no names to find columns by.
      later_.schema = std::make_shared<const TableSchema>(layout_.table);
      later_.label_column = later_.weight_column = "";
      later_.columns = later_.ignore_columns = later_.categorical = {};
    }
  } else if (!options_.schema) {
    if (layout->fields.size() != layout_.fields.size()) {
      throw Error(ErrorKind::kInput, "{}: found {} fields, expected {} as in {}", source.name(),
                  layout->fields.size(), layout_.fields.size(), first_file_);
    }
    layout->label_is_word = layout_.label_is_word;
  }
  source.skip(layout->header_bytes);
  const bool drop = drops_rows(options_, layout->table.missing);
  if (layout->delimiter == ' ') {
    return std::make_shared<CsvParser<T, true>>(*std::move(layout), drop);
  }
  return std::make_shared<CsvParser<T, false>>(*std::move(layout), drop);
}

template <class T>
std::unique_ptr<TextFormat<T>> open(const ReadOptions& options) {
  if (has_text_column(options)) return text_column_format<T>(csv_text_column(options), options);
  return std::make_unique<CsvFormat<T>>(options);
}

// "1", "1,2", "1;2".
bool is_numbers(std::string_view token) {
  for (;;) {
    const std::size_t end = token.find_first_of(",;");
    const std::string_view field = token.substr(0, end);
    if (!field.empty() && !is_number(field)) return false;
    if (end == token.npos) return true;
    token.remove_prefix(end + 1);
  }
}

// Whether there are only numbers below the first line, which may be names; or there is only one
// line, of numbers.
bool looks_like_numbers(const FileStart& start) {
  const auto& lines = start.lines;
  return !lines.empty() &&
         std::all_of(lines.begin() + (lines.size() > 1), lines.end(), [](const auto& line) {
           return std::all_of(line.begin(), line.end(), is_numbers);
         });
}

Match recognise(const FileStart& start) {
  return !start.expect_documents || looks_like_numbers(start) ? Match::kFallback : Match::kNo;
}

}  // namespace

constinit const Reader kCsvReader = {
    .name = "csv",
    .title = "CSV",
    .file_names = {"*.csv", "*.tsv"},
    .recognised_by =
        "any other text; where documents are expected, only numbers below the first "
        "line",
    .gives = "dense; sparse where categories have many levels",
    .recognise = recognise,
    .has_roles = true,
    .text_column = csv_text_column,
    .kind = TextKind{.open_float32 = open<float>, .open_float64 = open<double>, .has_quotes = true},
};

}  // namespace meanwhile::data
