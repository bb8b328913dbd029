#include "meanwhile/data/files/row_source.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/append.h"
#include "meanwhile/data/files/array_roles.h"
#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/files/settle_table.h"
#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

namespace {

// Files of one text format.
template <class T>
class TextRowSource : public RowSource<T> {
 public:
  TextRowSource(const std::vector<InputFile>& files, const ReadOptions& options)
      : files_(files),
        threads_(options.threads),
        format_(open_as<T>(*files.front().reader->text(), options)) {}

  bool sparse() const override { return format_->sparse(); }
  RowsDescription pour(RowSink<T>& sink) override {
    parse_text(text_inputs(files_), *format_, sink, threads_);
    return format_->description();
  }

 private:
  const std::vector<InputFile> files_;
  const base::Threads threads_;
  const std::unique_ptr<TextFormat<T>> format_;
};

// Files of any formats, one data set each. One data set at a time is in memory.
template <class T>
class JoinedRowSource : public RowSource<T> {
 public:
  JoinedRowSource(const std::vector<InputFile>& files, const ReadOptions& options, Dataset first)
      : files_(files), options_(options), sparse_(is_sparse(first.x)), first_(std::move(first)) {}

  bool sparse() const override { return sparse_; }
  RowsDescription pour(RowSink<T>& sink) override {
    Appender appender;
    Dataset data = std::move(first_);
    for (const InputFile& file : files_) {
      if (&file != &files_.front()) {
        data = {};  // before the next is read
        data = read_one(file, options_);
      }
      appender.append(data, display_name(file.path), sink);
    }
    return appender.description();
  }

 private:
  const std::vector<InputFile> files_;
  const ReadOptions options_;
  const bool sparse_;
  Dataset first_;
};

// Files of one format that is not an array.
template <class T>
std::unique_ptr<RowSource<T>> open_as_one(const std::vector<InputFile>& files,
                                          const ReadOptions& options) {
  if (const ColumnarKind* const columnar = files.front().reader->columnar()) {
    return open_as<T>(*columnar, files, options);
  }
  return std::make_unique<TextRowSource<T>>(files, options);
}

template <class T>
Dataset read_one_as(const InputFile& file, const ReadOptions& options) {
  const auto rows = open_as_one<T>({file}, options);
  MemorySink<T> sink(rows->sparse());
  return settled_rows(sink, rows->pour(sink), options, file);
}

bool have_one_format(const std::vector<InputFile>& files) {
  return std::all_of(files.begin(), files.end(),
                     [&](const InputFile& file) { return file.reader == files.front().reader; });
}

}  // namespace

template <class T>
Dataset settled_rows(MemorySink<T>& sink, RowsDescription description, const ReadOptions& options,
                     const InputFile& first) {
  Dataset data = sink.finish(std::move(description));
  const std::int64_t rows_read = rows(data.x);
  return settle_table(std::move(data), sink.counts(), sink.counts(), rows_read, options,
                      add_up_alone, display_name(first.path));
}

template Dataset settled_rows(MemorySink<float>&, RowsDescription, const ReadOptions&,
                              const InputFile&);
template Dataset settled_rows(MemorySink<double>&, RowsDescription, const ReadOptions&,
                              const InputFile&);

Dataset read_one(const InputFile& file, const ReadOptions& options) {
  if (const BinaryKind* const binary = file.reader->binary()) {
    const BinaryFile contents = open_binary(file, options);
    Dataset data = binary->read(contents, options);
    if (file.reader->has_roles && has_array_roles(options)) {
      try {
        data = take_array_roles(std::move(data), options);
      } catch (base::Error& error) {
        throw error.in(contents.name);
      }
    }
    check_finite(data.x, contents.name, options.threads, data.mapped);
    return data;
  }
  return options.dtype == DType::kFloat32 ? read_one_as<float>(file, options)
                                          : read_one_as<double>(file, options);
}

bool is_one_text(const std::vector<InputFile>& files) {
  return files.front().reader->text() != nullptr && have_one_format(files);
}

AnyRowSource open_rows(const std::vector<InputFile>& files, const ReadOptions& options) {
  if (files.front().reader->binary() == nullptr && have_one_format(files)) {
    if (options.dtype == DType::kFloat32) return open_as_one<float>(files, options);
    return open_as_one<double>(files, options);
  }
  Dataset first = read_one(files.front(), options);
  if (is_float32(first.x)) {
    return std::make_unique<JoinedRowSource<float>>(files, options, std::move(first));
  }
  return std::make_unique<JoinedRowSource<double>>(files, options, std::move(first));
}

}  // namespace meanwhile::data
