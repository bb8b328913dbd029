#include "meanwhile/data/files/text_part.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// Calls `use` with each piece of the text of a range and its offset in the file, until `use`
// returns false.
void read_pieces(const std::filesystem::path& path, TextRange range,
                 const std::function<bool(std::string_view, std::int64_t)>& use) {
  if (range.begin >= range.end) return;
  const auto stream = open_bytes(path, range.begin, range.end);
  // The first piece is small: the end that callers look for is mostly in the current line.
  std::vector<char> buffer(std::size_t{4} << 10);
  for (std::int64_t at = range.begin;;) {
    const std::size_t size = stream->read(buffer);
    if (size == 0 || !use({buffer.data(), size}, at)) return;
    at += static_cast<std::int64_t>(size);
    buffer.resize(std::size_t{1} << 20);
  }
}

// The first start of a line at or after `at`; `size` if there is none.
std::int64_t line_start(const std::filesystem::path& path, std::int64_t at, std::int64_t size) {
  std::int64_t found = size;
  read_pieces(path, {at - 1, size}, [&](std::string_view text, std::int64_t offset) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return true;
    found = offset + static_cast<std::int64_t>(end) + 1;
    return false;
  });
  return found;
}

// The first start of a record at or after the start of a line that is between quotes.
std::int64_t record_start(const std::filesystem::path& path, std::int64_t line, std::int64_t size) {
  std::int64_t found = size;
  bool inside = true;
  read_pieces(path, {line, size}, [&](std::string_view text, std::int64_t offset) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      inside ^= text[i] == '"';
      if (text[i] != '\n' || inside) continue;
      found = offset + static_cast<std::int64_t>(i) + 1;
      return false;
    }
    return true;
  });
  return found;
}

// A format whose files are open already; hands out their parsers in the order in which the driver
// asks for them. Counts the rows of each file and the files parsed without error.
template <class T>
class Prepared : public TextFormat<T> {
 public:
  Prepared(TextFormat<T>& format, std::vector<std::shared_ptr<const TextParser<T>>> parsers)
      : rows(parsers.size()), format_(format), parsers_(std::move(parsers)) {}
  bool sparse() const override { return format_.sparse(); }
  std::shared_ptr<const TextParser<T>> open(TextSource&) override {
    const std::size_t file = next_++;
    return std::make_shared<Counted>(*this, *parsers_[file], file);
  }
  RowsDescription description() const override { return format_.description(); }

  std::vector<std::int64_t> rows;
  std::size_t ended = 0;

 private:
  class Counted : public TextParser<T> {
   public:
    Counted(Prepared& all, const TextParser<T>& parser, std::size_t file)
        : all_(all), parser_(parser), file_(file) {}
    std::size_t cut(std::string_view text) const override { return parser_.cut(text); }
    void parse(std::string_view text, RowChunk<T>& chunk) const override {
      parser_.parse(text, chunk);
    }
    std::int64_t end(std::int64_t count, std::int64_t stored) const override {
      all_.rows[file_] = count;
      ++all_.ended;
      return parser_.end(count, stored);
    }

   private:
    Prepared& all_;
    const TextParser<T>& parser_;
    const std::size_t file_;
  };

  TextFormat<T>& format_;
  std::vector<std::shared_ptr<const TextParser<T>>> parsers_;
  std::size_t next_ = 0;
};

template <class T>
class TextPartOf : public TextPart {
 public:
  TextPartOf(const std::vector<InputFile>& files, const ReadOptions& options, int part, int parts)
      : files_(files),
        threads_(options.threads),
        part_(static_cast<std::size_t>(part)),
        format_(open_as<T>(*files.front().reader->text(), options)) {
    std::int64_t total = 0;
    for (const InputFile& file : files_) {
      sizes_.push_back(static_cast<std::int64_t>(std::filesystem::file_size(file.path)));
      total += sizes_.back();
    }
    const std::int64_t begin = total * part / parts, end = total * (part + 1) / parts;
    std::int64_t file_begin = 0;
    for (std::size_t f = 0; f < files_.size(); file_begin += sizes_[f++]) {
      const bool begins_here =
          begin <= file_begin && (file_begin < end || (part + 1 == parts && file_begin == end));
      if (!open(f, begins_here)) return;
      const std::int64_t first = std::clamp(begin - file_begin, std::int64_t{0}, sizes_[f]);
      const std::int64_t last = std::clamp(end - file_begin, std::int64_t{0}, sizes_[f]);
      if (first == last) continue;
      const TextRange lines{start_of_line(f, first), start_of_line(f, last)};
      if (lines.begin < lines.end) ranges_.push_back({f, lines});
    }
  }

  std::vector<QuoteMap> quotes() const override {
    std::vector<QuoteMap> maps(files_.size());
    if (!files_.front().reader->text()->has_quotes) return maps;
    for (const Range& range : ranges_) {
      QuoteScan scan;
      read_pieces(files_[range.file].path, range.lines, [&](std::string_view text, std::int64_t) {
        scan.add(text);
        return true;
      });
      maps[range.file] = scan.map();
    }
    return maps;
  }

  TextRows parse(const std::vector<std::vector<QuoteMap>>& quotes_of_parts) override {
    std::vector<TextInput> inputs;
    std::vector<std::size_t> file_of;
    std::vector<std::shared_ptr<const TextParser<T>>> parsers;
    for (const Range& range : ranges_) {
      const std::filesystem::path& path = files_[range.file].path;
      bool inside = false;  // at the start of the range, after the parts before it
      for (std::size_t p = 0; p < part_; ++p) {
        inside = quotes_of_parts[p][range.file].after[inside];
      }
      const bool inside_end = quotes_of_parts[part_][range.file].after[inside];
      const auto start = [&](std::int64_t line, bool between) {
        return between ? record_start(path, line, sizes_[range.file]) : line;
      };
      const TextRange records{start(range.lines.begin, inside), start(range.lines.end, inside_end)};
      if (records.begin == records.end) continue;
      inputs.push_back({path, nullptr, records});
      file_of.push_back(range.file);
      parsers.push_back(parsers_[range.file]);
    }
    TextRows rows;
    Prepared<T> format(*format_, std::move(parsers));
    MemorySink<T> sink(format.sparse());
    try {
      parse_text(inputs, format, sink, threads_);
      rows.outcome.failure = failure_;
    } catch (const Error& error) {
      rows.outcome.failure = TextFailure{file_of[format.ended], error};
    }
    std::vector<std::int64_t>& counts = rows.outcome.rows_of_file;
    counts.resize(files_.size());
    for (std::size_t i = 0; i < file_of.size(); ++i) counts[file_of[i]] = format.rows[i];
    rows.counts = sink.counts();
    if (!rows.outcome.failure) rows.data = sink.finish(format.description());
    return rows;
  }

 private:
  struct Range {
    std::size_t file;
    TextRange lines;  // from the start of a line to the start of a line
  };

  // Opens file f; false if its header is wrong, and then no later file is parsed either. The error
  // belongs to this part if the file begins in it.
  bool open(std::size_t f, bool begins_here) {
    try {
      TextSource source(files_[f].path);
      parsers_.push_back(open_parser(*format_, source));
      bodies_.push_back(source.offset());
      return true;
    } catch (const Error& error) {
      if (begins_here) failure_ = TextFailure{f, error};
      return false;
    }
  }

  std::int64_t start_of_line(std::size_t f, std::int64_t at) const {
    return at <= bodies_[f] ? bodies_[f] : line_start(files_[f].path, at, sizes_[f]);
  }

  const std::vector<InputFile> files_;
  const base::Threads threads_;
  const std::size_t part_;
  const std::unique_ptr<TextFormat<T>> format_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::shared_ptr<const TextParser<T>>> parsers_;
  std::vector<std::int64_t> bodies_;  // where the rows begin, behind the header
  std::vector<Range> ranges_;
  std::optional<TextFailure> failure_;
};

}  // namespace

bool can_cut(const std::vector<InputFile>& files) {
  return is_one_text(files) && files.front().reader->text()->can_cut &&
         std::all_of(files.begin(), files.end(), [](const InputFile& file) { return file.plain; });
}

std::unique_ptr<TextPart> text_part(const std::vector<InputFile>& files, const ReadOptions& options,
                                    int part, int parts) {
  if (options.dtype == DType::kFloat32) {
    return std::make_unique<TextPartOf<float>>(files, options, part, parts);
  }
  return std::make_unique<TextPartOf<double>>(files, options, part, parts);
}

void throw_first(const std::vector<InputFile>& files, const std::vector<TextOutcome>& parts) {
  const auto failed = std::find_if(parts.begin(), parts.end(), [](const TextOutcome& outcome) {
    return outcome.failure.has_value();
  });
  const std::size_t whole = failed == parts.end() ? files.size() : failed->failure->file;
  for (std::size_t f = 0; f < whole; ++f) {
    std::int64_t rows = 0;
    for (const TextOutcome& part : parts) rows += part.rows_of_file[f];
    if (rows == 0) throw Error(ErrorKind::kInput, "{}: has no rows", display_name(files[f].path));
  }
  if (failed != parts.end()) throw failed->failure->error;
}

}  // namespace meanwhile::data
