#include "meanwhile/data/files/add_columns.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_records.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/table/encode.h"
#include "meanwhile/data/table/fit.h"
#include "meanwhile/data/text/csv_values.h"
#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using Kept = AddColumns::Keep;

// Fields of a file that rows keep.
struct FileFields {
  char delimiter = ',';
  std::vector<std::size_t> kept;  // kFields: numbers of the fields
};

// Text whose memory is kept from chunk to chunk. A std::string would fill what it grows by.
class NewText {
 public:
  // The beginning of so much memory; what was there is lost.
  char* room(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_ = std::make_unique_for_overwrite<char[]>(bytes);
      bytes_ = bytes;
    }
    size_ = 0;
    return memory_.get();
  }
  // Up to there is the text.
  void end(const char* at) { size_ = static_cast<std::size_t>(at - memory_.get()); }
  std::string_view view() const { return {memory_.get(), size_}; }

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t bytes_ = 0, size_ = 0;
};

// Makes the new text of the chunks of one file. Thread safety: immutable.
class RecordWriter {
 public:
  RecordWriter(const AddColumns& columns, FileFields fields)
      : columns_(columns), fields_(std::move(fields)) {}

  // `rows`: the records of `text`.
  void write(std::string_view text, std::int64_t rows, const NewValues& values,
             NewText& out) const {
    const std::size_t width = columns_.names.size();
    const CsvValues fields(values.words, width, fields_.delimiter);
    // A delimiter for each field that is kept, quotes, and a line end.
    const std::size_t more = fields.row_bytes() + fields_.kept.size() + 4;
    const std::size_t copied = columns_.keep == Kept::kNothing ? 0 : text.size();
    char* to = out.room(copied + static_cast<std::size_t>(rows) * more);
    const auto copy = [&to](std::string_view bytes) {
      std::memcpy(to, bytes.data(), bytes.size());
      to += bytes.size();
    };
    std::int64_t row = 0;
    std::vector<std::string_view> split;
    const auto put = [&](std::string_view bytes, std::string_view line_end) {
      if (row == rows) throw mismatch();
      const char* const begin = to;
      if (columns_.keep == Kept::kRecords) copy(bytes);
      if (columns_.keep == Kept::kFields) {
        split_bytes(bytes, fields_.delimiter, split);
        for (const std::size_t field : fields_.kept) {
          if (to != begin) *to++ = fields_.delimiter;
          if (to == begin && split[field].starts_with('#')) {  // would begin a comment
            *to++ = '"';
            copy(split[field]);
            *to++ = '"';
          } else {
            copy(split[field]);
          }
        }
        line_end = "\n";
      }
      to = fields.put(values.values.data() + static_cast<std::size_t>(row) * width,
                      columns_.keep != Kept::kNothing, to);
      copy(columns_.keep == Kept::kRecords && !line_end.empty() ? line_end : "\n");
      ++row;
    };
    for_records(text, put, [&](std::string_view line) {
      if (columns_.keep == Kept::kRecords) copy(line);
    });
    if (row != rows) throw mismatch();
    out.end(to);
  }

 private:
  static Error mismatch() {
    return Error(ErrorKind::kInput, "its records cannot be told apart; is every quote closed?");
  }

  const AddColumns& columns_;
  const FileFields fields_;
};

// Rows of a chunk as a data set.
template <class T>
Dataset rows_of(RowChunk<T>& chunk, bool sparse, const RowsDescription& description) {
  Dataset data;
  const auto rows = static_cast<std::int64_t>(chunk.rows);
  data.feature_names = description.feature_names;
  data.unknown = chunk.unknown;
  data.table = description.table;
  if (sparse) {
    base::Buffer<std::int64_t> starts(chunk.rows + 1);
    std::copy_n(chunk.row_end.data(), chunk.rows, starts.data() + 1);
    data.x = Sparse<T>{own(data, std::move(starts)).data(), chunk.columns.data(),
                       chunk.values.data(), rows, std::max(description.cols, chunk.max_column + 1)};
    return data;
  }
  data.x = Dense<T>{chunk.values.data(), rows, description.cols};
  return chunk.table.empty() ? data : encode(std::move(data), *description.table, chunk.table, 1);
}

// The new text of chunks that are under way. Thread safety: any number of calls at the same time,
// each for a chunk of its thread.
class NewTexts {
 public:
  NewText& of(const void* chunk) {
    const base::MutexLock lock(mutex_);
    return texts_[chunk];
  }

 private:
  base::Mutex mutex_;
  std::map<const void*, NewText> texts_ MW_GUARDED_BY(mutex_);
};

// The part that all files of one call share.
struct Progress {
  NewTexts texts;
  std::atomic<std::int64_t> incomplete = 0;  // rows that lack a value
};

// CSV as another format parses it, whose chunks also get their new text.
template <class T>
class AddingFormat : public TextFormat<T> {
 public:
  AddingFormat(std::unique_ptr<TextFormat<T>> format, const ReadOptions& options,
               const AddColumns& columns, Progress& progress)
      : format_(std::move(format)), options_(options), columns_(columns), progress_(progress) {}

  bool sparse() const override { return format_->sparse(); }
  RowsDescription description() const override { return format_->description(); }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override {
    const std::string_view text = source.head(kLookedAtBytes);
    const std::string start(text);
    const std::int64_t before = source.offset();
    std::shared_ptr<const TextParser<T>> parser = format_->open(source);
    try {
      const CsvStart found =
          csv_start(start, start.size() < kLookedAtBytes,
                    static_cast<std::size_t>(source.offset() - before), source.name(), options_);
      FileFields fields = begin(found, before > 0, source.name());
      return std::make_shared<Parser>(std::move(parser), sparse(), described(),
                                      RecordWriter(columns_, std::move(fields)), columns_,
                                      source.name(), progress_);
    } catch (Error& error) {
      throw error.in(source.name());
    }
  }

  // The text before the first row. REQUIRES: the first file was opened.
  const std::string& head() const { return head_; }
  bool has_header() const { return has_header_; }
  std::size_t kept() const { return kept_; }

 private:
  class Parser : public TextParser<T> {
   public:
    Parser(std::shared_ptr<const TextParser<T>> parser, bool sparse, RowsDescription description,
           RecordWriter writer, const AddColumns& columns, std::string name, Progress& progress)
        : parser_(std::move(parser)),
          sparse_(sparse),
          description_(std::move(description)),
          writer_(std::move(writer)),
          columns_(columns),
          name_(std::move(name)),
          progress_(progress) {}

    std::size_t cut(std::string_view text) const override { return parser_->cut(text); }
    void parse(std::string_view text, RowChunk<T>& chunk) const override {
      parser_->parse(text, chunk);
      try {
        const auto rows = static_cast<std::int64_t>(chunk.rows);
        const Dataset data = rows_of(chunk, sparse_, description_);
        progress_.incomplete += static_cast<std::int64_t>(data.incomplete.size());
        writer_.write(text, rows, rows > 0 ? columns_.make(data) : NewValues{},
                      progress_.texts.of(&chunk));
      } catch (Error& error) {
        throw error.in(name_);
      }
    }
    std::int64_t end(std::int64_t rows, std::int64_t stored) const override {
      return parser_->end(rows, stored);
    }

   private:
    const std::shared_ptr<const TextParser<T>> parser_;
    const bool sparse_;
    const RowsDescription description_;
    const RecordWriter writer_;
    const AddColumns& columns_;
    const std::string name_;
    Progress& progress_;
  };

  RowsDescription described() const {
    RowsDescription description = format_->description();
    if (options_.schema || sparse() || is_plain(*description.table)) return description;
    throw Error(ErrorKind::kInput,
                "has columns that are not numbers, and the model does not know their levels");
  }

  // Looks at the start of a file; of the first one, makes the head of the output.
  FileFields begin(const CsvStart& start, bool has_mark, const std::string& name) {
    FileFields fields{columns_.keep == Kept::kNothing ? columns_.delimiter : start.delimiter, {}};
    if (columns_.delimiter == '\t' && fields.delimiter != '\t') {
      throw Error(ErrorKind::kUsage,
                  "its fields are not separated by tabs, so its rows cannot be copied to a .tsv "
                  "file; write .csv");
    }
    std::vector<std::string> kept = start.names;
    if (columns_.keep != Kept::kRecords) kept.clear();
    for (const std::string& given : columns_.fields) {
      for (const std::size_t at :
           find_columns(base::parameter("id_column"), given, start.names, start.fields)) {
        if (std::find(fields.kept.begin(), fields.kept.end(), at) != fields.kept.end()) continue;
        fields.kept.push_back(at);
        kept.push_back(start.names.empty() ? fmt::format("{}", at) : start.names[at]);
      }
    }
    if (first_.empty()) {
      first_ = name;
      first_start_ = start;
      make_head(start, has_mark, kept, fields.delimiter);
      return fields;
    }
    const bool same = start.fields == first_start_.fields && start.names == first_start_.names;
    if (columns_.keep == Kept::kRecords && !same) {
      throw Error(ErrorKind::kInput,
                  "its columns are not those of {}, in the same order; one table cannot hold the "
                  "records of both",
                  first_);
    }
    if (columns_.keep != Kept::kNothing && start.delimiter != first_start_.delimiter) {
      throw Error(ErrorKind::kInput, "its delimiter is not that of {}; one table cannot hold both",
                  first_);
    }
    return fields;
  }

  void make_head(const CsvStart& start, bool has_mark, std::vector<std::string> kept,
                 char delimiter) {
    for (const std::string& name : columns_.names) {
      if (std::find(kept.begin(), kept.end(), name) == kept.end()) continue;
      throw Error(ErrorKind::kUsage, "has a column named {} already; {} names the new ones apart",
                  name, base::parameter("prefix"));
    }
    const bool records = columns_.keep == Kept::kRecords;
    kept_ = records ? start.fields : kept.size();
    has_header_ = !records || !start.names.empty();
    if (records) head_ = (has_mark ? "\xef\xbb\xbf" : "") + start.before + start.header;
    if (!has_header_) return;
    if (!records) {
      kept.insert(kept.end(), columns_.names.begin(), columns_.names.end());
      head_ = csv_header(kept, delimiter);
      return;
    }
    const std::string added = csv_header(columns_.names, delimiter);
    head_ += delimiter + added.substr(0, added.size() - 1) + start.line_end;
  }

  const std::unique_ptr<TextFormat<T>> format_;
  const ReadOptions& options_;
  const AddColumns& columns_;
  Progress& progress_;
  std::string first_;  // not empty: a file was opened
  CsvStart first_start_;
  std::string head_;
  bool has_header_ = true;
  std::size_t kept_ = 0;
};

// Writes the new text of the chunks.
template <class T>
class WritingSink : public RowSink<T> {
 public:
  using typename RowSink<T>::Place;
  WritingSink(const AddingFormat<T>& format, const AddColumns& columns, Progress& progress)
      : format_(format), columns_(columns), progress_(progress) {}

  Place reserve(RowChunk<T>& chunk) override {
    write_head();
    const Place place = totals_.add(chunk);
    columns_.write(progress_.texts.of(&chunk).view());
    return place;
  }
  void put(const RowChunk<T>&, const Place&) override {}
  void write_head() {
    if (!std::exchange(begun_, true)) columns_.write(format_.head());
  }
  const RowTotals<T>& totals() const { return totals_; }

 private:
  const AddingFormat<T>& format_;
  const AddColumns& columns_;
  Progress& progress_;
  RowTotals<T> totals_;
  bool begun_ = false;
};

template <class T>
AddedColumns add_columns_of(const std::vector<InputFile>& files, const ReadOptions& options,
                            const AddColumns& columns) {
  Progress progress;
  AddingFormat<T> format(open_as<T>(*files.front().reader->text(), options), options, columns,
                         progress);
  WritingSink<T> sink(format, columns, progress);
  parse_text(text_inputs(files), format, sink, options.threads);
  sink.write_head();
  const RowTotals<T>& totals = sink.totals();
  AddedColumns added{static_cast<std::int64_t>(totals.rows), format.kept(), format.has_header(),
                     totals.unknown, format.description().notes};
  if (!totals.table.empty()) {
    const auto notes =
        matching_notes(*format.description().table, totals.table, added.rows, progress.incomplete);
    added.notes.insert(added.notes.end(), notes.begin(), notes.end());
  }
  return added;
}

}  // namespace

bool are_csv(const std::vector<InputFile>& files) {
  return std::all_of(files.begin(), files.end(),
                     [](const InputFile& file) { return file.reader == &kCsvReader; });
}

AddedColumns add_columns(std::vector<InputFile> files, const ReadOptions& asked,
                         const AddColumns& columns) {
  const ReadOptions options = with_vocabulary(files, asked);
  return options.dtype == DType::kFloat32 ? add_columns_of<float>(files, options, columns)
                                          : add_columns_of<double>(files, options, columns);
}

}  // namespace meanwhile::data
