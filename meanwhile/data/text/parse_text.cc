// The driver of all text formats.
//
// A thread repeats: take the next chunk (alone, under source_mutex_), parse it (in parallel), wait
// for its turn, reserve its place (alone), copy it there (in parallel). Chunks are numbered when
// they are taken.
//
// A failure waits for its turn like a chunk, so the failure thrown is the first in the order of the
// files. Only then is the line known at which a chunk begins. A thread holds one chunk at a
// time: memory is threads x (a chunk and its rows), whatever the size of the files.
#include "meanwhile/data/text/parse_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/turns.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// The error for `bad` in `text`, before which `file` has `lines` lines.
Error located(const BadText& bad, const std::string& file, std::string_view text,
              std::int64_t lines) {
  const std::string_view before = text.substr(0, bad.offset);
  const auto line = lines + 1 + std::count(before.begin(), before.end(), '\n');
  const std::string place =
      !bad.place.empty() ? bad.place
                         : fmt::format("column {}", before.size() - (before.rfind('\n') + 1) + 1);
  return Error(ErrorKind::kInput, "{}: line {}, {}: {}", file, line, place, bad.message);
}

// Lines of the file before the range that is read. Counted only to report an error.
std::int64_t lines_before(const TextInput& input) {
  if (!input.range) return 0;
  const auto stream = open_bytes(input.path, 0, input.range->begin);
  std::vector<char> piece(1 << 20);
  std::int64_t lines = 0;
  while (const std::size_t size = stream->read(piece)) {
    lines += std::count(piece.data(), piece.data() + size, '\n');
  }
  return lines;
}

template <class T>
class Driver {
 public:
  Driver(const std::vector<TextInput>& inputs, TextFormat<T>& format, RowSink<T>& sink,
         const ChunkLimits& limits)
      : inputs_(inputs), format_(format), sink_(sink), limits_(limits) {}

  void run(base::Threads threads) {
    base::ThreadPool pool(threads);
    pool.run(pool.size(), [&](std::int64_t, int) { work(threads.stop); });
    turns_.rethrow();
  }

 private:
  struct File {
    std::string name;
    std::int64_t lines_skipped;  // before the first chunk, within the range that is read
    std::shared_ptr<const TextParser<T>> parser;
    const TextInput* input;
  };
  struct Job {
    std::int64_t number = 0;
    std::shared_ptr<const File> file;
    bool ends_file = false;  // and has no text
    std::exception_ptr failure;
    TextChunk chunk;
    RowChunk<T> rows;
  };

  void work(base::Stop stop) {
    Job job;
    while (take(job, stop)) {
      if (job.failure == nullptr && !job.ends_file) {
        try {
          job.file->parser->parse(job.chunk.text(), job.rows);
        } catch (...) {
          job.failure = std::current_exception();
        }
      }
      typename RowSink<T>::Place place;
      if (!turns_.run(job.number, [&] { place = reserve(job); })) return;
      if (!job.ends_file) sink_.put(job.rows, place);
    }
  }

  // False if nothing is left to do.
  bool take(Job& job, base::Stop stop) {
    std::lock_guard lock(source_mutex_);
    if (taken_all_ || turns_.stopped()) return false;
    job.failure = nullptr;
    job.ends_file = false;
    try {
      stop.check();
      if (source_ == nullptr && !open_next()) return false;
      job.file = file_;
      const auto cut = [&](std::string_view text) { return file_->parser->cut(text); };
      if (!source_->next(limits_, cut, job.chunk)) {
        job.ends_file = true;
        source_ = nullptr;
      }
    } catch (...) {
      job.failure = std::current_exception();
      job.file = file_;
      taken_all_ = true;
    }
    job.number = taken_++;
    return true;
  }

  bool open_next() {
    if (next_input_ == inputs_.size()) {
      taken_all_ = true;
      return false;
    }
    const TextInput& input = inputs_[next_input_++];
    file_ = nullptr;
    source_ = input.opened  ? input.opened
              : input.range ? std::make_shared<TextSource>(input.path, *input.range)
                            : std::make_shared<TextSource>(input.path);
    auto parser = open_parser(format_, *source_);
    file_ = std::make_shared<const File>(
        File{source_->name(), source_->lines_skipped(), std::move(parser), &input});
    return true;
  }

  typename RowSink<T>::Place reserve(Job& job) {
    if (job.file != placing_) {
      placing_ = job.file;
      file_rows_ = file_stored_ = file_dropped_ = 0;
      file_lines_ = placing_ ? placing_->lines_skipped : 0;
    }
    try {
      if (job.failure != nullptr) std::rethrow_exception(job.failure);
      if (job.ends_file) return end_file(job);
      if (!job.rows.row_number.empty()) spread(job);
    } catch (const BadText& bad) {
      const std::int64_t before = lines_before(*placing_->input);
      throw located(bad, placing_->name, job.chunk.text(), before + file_lines_);
    }
    file_rows_ += static_cast<std::int64_t>(job.rows.rows);
    file_dropped_ += job.rows.table.dropped;
    file_stored_ += static_cast<std::int64_t>(job.rows.stored);
    file_lines_ += job.rows.lines;
    return sink_.reserve(job.rows);
  }

  typename RowSink<T>::Place end_file(Job& job) {
    std::int64_t rows = 0;
    try {
      rows = placing_->parser->end(file_rows_, file_stored_);
      const bool none = rows == 0 && file_dropped_ == 0;
      if (none && !placing_->input->range) throw Error(ErrorKind::kInput, "has no rows");
    } catch (Error& error) {
      error.in(placing_->name);
      throw;
    }
    if (rows > file_rows_) check_sparseness(rows, file_stored_);
    add_empty_rows(job.rows, rows - file_rows_);
    return {};
  }

  // Puts the empty rows where numbered rows leave a gap.
  void spread(Job& job) {
    RowChunk<T>& rows = job.rows;
    const std::int64_t first = rows.row_number.front(), last = rows.row_number.back();
    if (first < file_rows_) {
      throw BadText{0, fmt::format("found document {} after document {}, expected documents in "
                                   "increasing order; sort the file",
                                   first + 1, file_rows_)};
    }
    for (std::size_t i = 0; i < rows.rows; ++i) {
      check_sparseness(rows.row_number[i] + 1, file_stored_ + rows.row_end[i]);
    }
    add_empty_rows(spare_, first - file_rows_);
    const auto count = static_cast<std::size_t>(last - first + 1);
    if (count > rows.rows) {
      base::Buffer<std::int64_t> row_end(count);
      std::size_t filled = 0;
      for (std::size_t i = 0; i < rows.rows; ++i) {
        const auto row = static_cast<std::size_t>(rows.row_number[i] - first);
        std::fill(row_end.data() + filled, row_end.data() + row, i == 0 ? 0 : rows.row_end[i - 1]);
        row_end[row] = rows.row_end[i];
        filled = row + 1;
      }
      std::swap(rows.row_end, row_end);
      rows.rows = count;
    }
  }

  // Guards memory: a damaged document number must not add millions of empty rows.
  void check_sparseness(std::int64_t rows, std::int64_t stored) const {
    if (rows - (1 << 20) > 1024 * stored) {
      throw Error(ErrorKind::kInput,
                  "{}: found {} documents with only {} entries, expected at least one for every "
                  "1024; is the file damaged?",
                  placing_->name, rows, stored);
    }
  }

  void add_empty_rows(RowChunk<T>& rows, std::int64_t count) {
    constexpr std::int64_t kMost = 1 << 16;  // at a time
    for (; count > 0; count -= std::min(count, kMost)) {
      const auto some = static_cast<std::size_t>(std::min(count, kMost));
      rows.clear(some, 0, true);
      std::fill_n(rows.row_end.data(), some, 0);
      rows.rows = some;
      file_rows_ += static_cast<std::int64_t>(some);
      sink_.put(rows, sink_.reserve(rows));
    }
  }

  const std::vector<TextInput>& inputs_;
  TextFormat<T>& format_;
  RowSink<T>& sink_;
  const ChunkLimits limits_;
  Turns turns_;

  std::mutex source_mutex_;  // guards these
  std::size_t next_input_ = 0;
  std::shared_ptr<TextSource> source_;
  std::shared_ptr<const File> file_;
  std::int64_t taken_ = 0;
  bool taken_all_ = false;

  // Used in turns: the file of the chunk placed last, and its counts so far.
  std::shared_ptr<const File> placing_;
  std::int64_t file_rows_ = 0, file_stored_ = 0, file_lines_ = 0, file_dropped_ = 0;
  RowChunk<T> spare_;  // for empty rows
};

}  // namespace

template <class T>
std::shared_ptr<const TextParser<T>> open_parser(TextFormat<T>& format, TextSource& source) {
  try {
    return format.open(source);
  } catch (const BadText& bad) {
    throw located(bad, source.name(), source.head(0), source.lines_skipped());
  }
}

template <class T>
void parse_text(const std::vector<TextInput>& inputs, TextFormat<T>& format, RowSink<T>& sink,
                base::Threads threads, const ChunkLimits& limits) {
  Driver<T>(inputs, format, sink, limits).run(threads);
}

template std::shared_ptr<const TextParser<float>> open_parser(TextFormat<float>&, TextSource&);
template std::shared_ptr<const TextParser<double>> open_parser(TextFormat<double>&, TextSource&);
template void parse_text(const std::vector<TextInput>&, TextFormat<float>&, RowSink<float>&,
                         base::Threads, const ChunkLimits&);
template void parse_text(const std::vector<TextInput>&, TextFormat<double>&, RowSink<double>&,
                         base::Threads, const ChunkLimits&);

}  // namespace meanwhile::data
