// Comma-separated values and their kin: dense rows, one a record; csv_layout.h says what the first
// lines decide.
//
// The parser is one loop over fields. A field of a feature is nearly always a bare number, which is
// parsed where it stands; everything else (quotes, words, mistakes) is handled out of line.
//
// Invariants: a field and its delimiter take at least two bytes, so the buffers of a chunk are
// large enough beforehand; the '\n' at the end of the chunk ends every loop that is not inside
// quotes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// The parser of one file. kBlanks: fields are separated by runs of blanks.
template <class T, bool kBlanks>
class Parser : public TextParser<T> {
 public:
  explicit Parser(CsvLayout layout)
      : layout_(std::move(layout)),
        delimiter_(layout_.delimiter),
        labelled_(std::count(layout_.roles.begin(), layout_.roles.end(), CsvRole::kLabel) > 0),
        weighted_(std::count(layout_.roles.begin(), layout_.roles.end(), CsvRole::kWeight) > 0) {}

  std::size_t cut(std::string_view text) const override { return cut_csv(text); }

  void parse(std::string_view text, RowChunk<T>& rows) const override {
    rows.clear(text.size() / 2 + 1, text.size() / 2 + 1, false);
    rows.labelled = labelled_;
    rows.weighted = weighted_;
    const CsvRole* const roles = layout_.roles.data();
    const std::size_t fields = layout_.roles.size();
    const char* const end = text.data() + text.size();
    T* value = rows.values.data();

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
        const char* after = p;
        if (roles[field] == CsvRole::kFeature) {
          after = parse_number(p, end, *value);
          if (after == nullptr) [[unlikely]]
            after = hard_number(text, p, field, *value);
          ++value;
        } else {
          after = other_field(text, p, field, rows);
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
      ++rows.rows;
    }
    rows.stored = static_cast<std::size_t>(value - rows.values.data());
  }

 private:
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

  // The field at `p`. `scratch` holds its text if quotes in it are doubled.
  Field field_at(std::string_view text, const char* p, std::string& scratch) const {
    if (*p != '"') {
      const char* end = p;
      for (; *end != '\n' && !separates(*end); ++end) {
        if (*end == '"') {
          fail(
              text, end,
              "found a quote inside a field, expected it at the start; put the field in quotes and "
              "double the quotes inside");
        }
      }
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

  // Reads a number that parse_number does not take (it stands in quotes, or is not a number), or a
  // number of another type.
  template <class V>
  [[gnu::noinline]] const char* hard_number(std::string_view text, const char* p, std::size_t field,
                                            V& value) const {
    std::string scratch;
    const Field found = field_at(text, p, scratch);
    const char* first = found.text.data();
    const char* last = first + found.text.size();
    while (first < last && is_blank(*first)) ++first;
    while (first < last && is_blank(last[-1])) --last;
    if (first < last && detail::parse_any_number(first, last, value) == last) return found.end;
    const std::string name = layout_.field_name(field);
    const std::string advice =
        layout_.roles[field] == CsvRole::kFeature
            ? fmt::format("use `ignore_column` {} or `label_column` {}", name, name)
        : layout_.roles[field] == CsvRole::kLabel
            ? "the label of the first row is one, so all must be"
            : "a weight must be one";
    fail(text, p,
         not_a_value({first, static_cast<std::size_t>(last - first)},
                     fmt::format(" in field {}", name), type_name<V>(), advice));
  }

  [[gnu::noinline]] const char* other_field(std::string_view text, const char* p, std::size_t field,
                                            RowChunk<T>& rows) const {
    const CsvRole role = layout_.roles[field];
    if (role == CsvRole::kWeight) {
      double& weight = rows.weights[rows.rows];
      const char* const end = hard_number(text, p, field, weight);
      if (weight < 0) {
        fail(text, p, fmt::format("found the weight {}, expected 0 or more", weight));
      }
      return end;
    }
    if (role == CsvRole::kLabel && !layout_.label_is_word) {
      return hard_number(text, p, field, rows.labels[rows.rows]);
    }
    std::string scratch;
    const Field found = field_at(text, p, scratch);
    rows.lines += std::count(p, found.end, '\n');
    if (role == CsvRole::kLabel) {
      if (found.text.empty()) fail(text, p, "found nothing, expected a label");
      if (!is_utf8(found.text)) {
        fail(text, p, fmt::format("found the label {}, expected UTF-8", in_quotes(found.text)));
      }
      rows.labels[rows.rows] = static_cast<double>(rows.words.index(found.text));
    }
    return found.end;
  }

  // A field that does not end where its number does: "1.5abc", or something behind a quote.
  [[gnu::noinline, noreturn]] void bad_field(std::string_view text, const char* line, const char* p,
                                             std::size_t field) const {
    T value;
    if (*p != '"') hard_number(text, p, field, value);
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
                     layout_.roles.size()));
  }

  const CsvLayout layout_;
  const char delimiter_;
  const bool labelled_, weighted_;
};

// The start of the file up to the end of its second record, or all of it.
std::string_view first_records(TextSource& source) {
  for (std::size_t want = 64 << 10;; want *= 2) {
    const std::string_view text = source.head(want);
    if (text.size() < want) return text;
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
  RowsDescription description() const override;

 private:
  const ReadOptions options_;
  std::string first_file_;
  CsvLayout layout_;  // of first_file_
};

template <class T>
std::shared_ptr<const TextParser<T>> CsvFormat<T>::open(TextSource& source) {
  std::optional<CsvLayout> layout;
  ReadOptions options = options_;
  if (options.delimiter == 0 && is_tab_separated(source.name())) options.delimiter = '\t';
  try {
    layout = csv_layout(first_records(source), options);
  } catch (Error& error) {
    if (error.kind() == ErrorKind::kUsage) error.in(source.name());
    throw;
  }
  if (!layout) throw Error(ErrorKind::kInput, "{}: has no rows", source.name());
  if (first_file_.empty()) {
    if (layout->features() == 0) {
      throw Error(ErrorKind::kUsage, "{}: no column is left for the features", source.name());
    }
    first_file_ = source.name();
    layout_ = *layout;
  }
  if (!layout->names.empty() && layout->names != layout_.names) {
    throw Error(ErrorKind::kInput, "{}: its header is not that of {}", source.name(), first_file_);
  }
  if (layout->roles.size() != layout_.roles.size()) {
    throw Error(ErrorKind::kInput, "{}: found {} fields, expected {} as in {}", source.name(),
                layout->roles.size(), layout_.roles.size(), first_file_);
  }
  source.skip(layout->header_bytes);
  // All files use the roles of the first: a file without a header has no names to find them by.
  CsvLayout mine = layout_;
  mine.delimiter = layout->delimiter;
  if (mine.delimiter == ' ') return std::make_shared<Parser<T, true>>(std::move(mine));
  return std::make_shared<Parser<T, false>>(std::move(mine));
}

template <class T>
RowsDescription CsvFormat<T>::description() const {
  return {static_cast<std::int64_t>(layout_.features()), layout_.feature_names()};
}

template <class T>
std::unique_ptr<TextFormat<T>> open(const ReadOptions& options) {
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
        "anything else; where documents are expected, only numbers below the first "
        "line",
    .gives = "dense",
    .recognise = recognise,
    .has_roles = true,
    .kind = TextKind{.open_float32 = open<float>, .open_float64 = open<double>, .has_quotes = true},
};

}  // namespace meanwhile::data
