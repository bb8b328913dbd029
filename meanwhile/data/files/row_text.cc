#include "meanwhile/data/files/row_text.h"

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/npy_header.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool begins_with_mark(const std::filesystem::path& path) {
  char start[3];
  const auto stream = open_bytes(path);
  std::size_t have = 0;
  while (have < sizeof start) {
    const std::size_t got = stream->read(std::span(start).subspan(have));
    if (got == 0) return false;
    have += got;
  }
  return std::string_view(start, have) == kByteOrderMark;
}

// Text in chunks of whole rows.
class FileRows : public RowText {
 public:
  explicit FileRows(const InputFile& file) : source_(file.path) {
    if (begins_with_mark(file.path)) header_ = kByteOrderMark;
  }

  void each(std::string* label, const Use& use) final {
    std::int64_t lines = source_.lines_skipped();
    try {
      TextChunk chunk;
      while (source_.next(
          {}, [this](std::string_view text) { return cut(text); }, chunk)) {
        const std::string_view text = chunk.text();
        try {
          rows(text, label, use);
        } catch (const BadText& bad) {
          const auto to = text.begin() + static_cast<std::ptrdiff_t>(bad.offset);
          lines += std::count(text.begin(), to, '\n');
          throw Error(ErrorKind::kInput, "{}: line {}: {}", source_.name(), lines + 1, bad.message);
        }
        lines += std::count(text.begin(), text.end(), '\n');
      }
    } catch (const BadText& bad) {  // a record that is too long
      throw Error(ErrorKind::kInput, "{}: line {}: {}", source_.name(), lines + 1, bad.message);
    }
  }

 protected:
  virtual std::size_t cut(std::string_view text) const { return cut_at_line(text); }
  // THROWS BadText.
  virtual void rows(std::string_view text, std::string* label, const Use& use) const = 0;

  TextSource source_;
};

class CsvRows final : public FileRows {
 public:
  CsvRows(const InputFile& file, const ReadOptions& options) : FileRows(file) {
    try {
      look(options);
    } catch (Error& error) {
      throw error.in(source_.name());
    } catch (const BadText& bad) {
      throw Error(ErrorKind::kInput, "{}: {}", source_.name(), bad.message);
    }
  }

 private:
  std::size_t cut(std::string_view text) const override { return cut_csv(text); }

  void look(const ReadOptions& options) {
    const std::string_view text = source_.head(kLookedAtBytes);
    const bool whole = text.size() < kLookedAtBytes;
    const auto first = next_record(text, 0, true);
    if (!first) throw Error(ErrorKind::kInput, "has no rows");
    delimiter_ = options.delimiter != 0 ? options.delimiter : find_delimiter(text, whole);
    const bool tabs = uncompressed_name(source_.name()).extension() == ".tsv";
    if (options.delimiter == 0 && tabs) delimiter_ = '\t';
    const CsvLook look = look_at_csv(text, whole, delimiter_);
    fields_ = look.first.size();
    const bool named = options.header.value_or(
        asks_for_names(options) || looks_like_header(look, std::vector<bool>(fields_, false)));
    if (!options.label_column.empty()) {
      const std::vector<std::string> names = named ? look.first : std::vector<std::string>();
      label_ = find_column("label_column", options.label_column, names, fields_);
    }
    if (!named) return;
    header_ += text.substr(0, first->end);
    if (!header_.ends_with('\n')) header_ += '\n';
    source_.skip(first->end);
  }

  void rows(std::string_view text, std::string* label, const Use& use) const override {
    for (std::size_t at = 0;;) {
      const auto record = next_record(text, at, true);
      if (!record) return;
      if (label != nullptr) {
        const std::vector<std::string> cells = split_record(text, *record, delimiter_);
        if (cells.size() != fields_) {
          throw BadText{record->begin, fmt::format("found {} fields, expected {} as in the first "
                                                   "line",
                                                   cells.size(), fields_)};
        }
        *label = cells[label_];
      }
      use(text.substr(record->begin, record->end - record->begin));
      at = record->end;
    }
  }

  char delimiter_ = ',';
  std::size_t fields_ = 0, label_ = 0;
};

bool is_empty_line(std::string_view line) { return line.find_first_not_of(" \t\r\n") == line.npos; }

class LineRows final : public FileRows {
 public:
  enum class Kind { kLibsvm, kJson, kDocuments };
  LineRows(const InputFile& file, const ReadOptions& options, Kind kind)
      : FileRows(file), kind_(kind), label_key_(options.label_column) {
    if (kind == Kind::kLibsvm && !options.label_column.empty()) {
      throw Error(ErrorKind::kUsage, "{}: the label of a libsvm row is at the start of its line",
                  base::parameter("label_column"));
    }
  }

 private:
  void rows(std::string_view text, std::string* label, const Use& use) const override {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      const std::string_view line = text.substr(at, end - at);
      const bool skips = kind_ != Kind::kDocuments &&
                         (is_empty_line(line) || (kind_ == Kind::kLibsvm && line[0] == '#'));
      if (!skips) {
        if (label != nullptr) *label = label_of(line, at);
        use(line);
      }
      at = end;
    }
  }

  std::string label_of(std::string_view line, std::size_t offset) const {
    if (kind_ == Kind::kLibsvm) {
      const std::size_t begin = line.find_first_not_of(" \t");
      const std::size_t end = std::min(line.find_first_of(" \t\r\n", begin), line.size());
      return std::string(line.substr(begin, end - begin));
    }
    const auto object = base::try_parse_object(line);
    if (!object) throw BadText{offset, "found no JSON object"};
    const base::Json& label = base::member_or_null(*object, label_key_);
    if (label.is_null()) {
      throw BadText{offset, fmt::format("found no label {}", in_quotes(label_key_))};
    }
    return label.is_string() ? label.get<std::string>() : label.dump();
  }

  const Kind kind_;
  const std::string label_key_;
};

class NpyRows final : public RowText {
 public:
  explicit NpyRows(const InputFile& file)
      : name_(display_name(file.path)), file_(open_binary(file, {})) {
    try {
      shape_ = parse_npy_header(file_.bytes);
    } catch (Error& error) {
      throw error.in(name_);
    }
    if (shape_.fortran_order) {
      throw Error(ErrorKind::kUsage,
                  "{}: its rows do not lie together (Fortran order); save it in C order", name_);
    }
    const std::string_view text(reinterpret_cast<const char*>(file_.bytes.data()), shape_.size);
    // The dictionary was parsed, so its keys are there.
    const std::size_t key = text.find("'descr'") + 7;
    const std::size_t from = text.find('\'', key) + 1;
    descr_ = text.substr(from, text.find('\'', from) - from);
    const std::size_t shape = text.find('(', text.find("'shape'"));
    const std::string_view numbers = text.substr(shape, text.find(')', shape) - shape);
    const std::size_t comma = numbers.find(',');
    is_flat_ = comma == numbers.npos || numbers.find_first_of("0123456789", comma) == numbers.npos;
  }

  std::string header_of(std::int64_t rows) const override {
    return npy_header(descr_, is_flat_ ? std::vector<std::int64_t>{rows}
                                       : std::vector<std::int64_t>{rows, shape_.cols});
  }

  void each(std::string* label, const Use& use) override {
    if (label != nullptr) {
      throw Error(ErrorKind::kUsage, "{}: NPY has no labels in it; {} names a file of them", name_,
                  base::parameter("labels"));
    }
    const auto rows = static_cast<std::size_t>(shape_.rows);
    const std::size_t each = (file_.bytes.size() - shape_.size) / rows;
    const char* at = reinterpret_cast<const char*>(file_.bytes.data()) + shape_.size;
    for (std::size_t row = 0; row < rows; ++row, at += each) use({at, each});
  }

 private:
  std::string name_;
  BinaryFile file_;
  NpyHeader shape_;
  std::string descr_;
  bool is_flat_ = false;
};

}  // namespace

std::unique_ptr<RowText> open_row_text(const InputFile& file, const ReadOptions& options) {
  const std::string_view format = file.reader->name;
  if (format == "csv") return std::make_unique<CsvRows>(file, options);
  if (format == "npy") return std::make_unique<NpyRows>(file);
  using Kind = LineRows::Kind;
  if (format == "libsvm") return std::make_unique<LineRows>(file, options, Kind::kLibsvm);
  if (format == "jsonl") return std::make_unique<LineRows>(file, options, Kind::kJson);
  if (format == "text" || format == "ldac") {
    return std::make_unique<LineRows>(file, options, Kind::kDocuments);
  }
  throw Error(ErrorKind::kUsage,
              "{}: rows of {} cannot be copied as they are; split takes CSV, JSON lines, libsvm, "
              "LDA-C, text and NPY",
              display_name(file.path), file.reader->title);
}

}  // namespace meanwhile::data
