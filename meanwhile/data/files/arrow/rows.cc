// Parquet, Arrow and Feather files: raw rows of a table. Threads take batches of rows from the
// files one after another, turn them into rows, and put these in place in the order of the files.
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/files/arrow/batches.h"
#include "meanwhile/data/files/arrow/cells.h"
#include "meanwhile/data/files/arrow/layout.h"
#include "meanwhile/data/files/columnar.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/text/turns.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using OpenBatches = std::unique_ptr<BatchSource> (*)(const BinaryFile& file, int threads);

template <class T>
class ArrowRowSource : public RowSource<T> {
 public:
  ArrowRowSource(const std::vector<InputFile>& files, const ReadOptions& options, OpenBatches open)
      : files_(files), options_(options), open_(open) {
    open_next();
  }

  bool sparse() const override { return false; }
  RowsDescription pour(RowSink<T>& sink) override {
    base::ThreadPool pool(options_.threads);
    pool.run(pool.size(), [&](std::int64_t, int) { work(sink); });
    turns_.rethrow();
    const TableSchema& table = first_->layout().table;
    return {static_cast<std::int64_t>(features(table).size()),
            {},
            std::make_shared<const TableSchema>(table),
            notes_};
  }

 private:
  using Rows = std::shared_ptr<const ArrowRows<T>>;
  struct Job {
    std::int64_t number = 0, first_row = 0;
    Rows rows;
    std::string file;
    std::shared_ptr<arrow::RecordBatch> batch;
    std::exception_ptr failure;
  };

  // Names the file in errors.
  template <class Step>
  static void in_file(const InputFile& file, const Step& step) {
    try {
      step();
    } catch (Error& error) {
      throw error.in(display_name(file.path));
    }
  }

  void open_next() {
    const InputFile& file = files_[opened_++];
    const BinaryFile bytes = open_binary(file, options_);
    in_file(file, [&] {
      batches_ = open_(bytes, options_.threads.count);
      ArrowLayout layout = arrow_layout(batches_->schema(), options_of_file());
      if (features(layout.table).empty()) {
        throw Error(ErrorKind::kUsage, "no column is left for the features");
      }
      if (first_) layout.label_is_word = first_->layout().label_is_word;
      batches_->start(layout.used());
      const bool drop = drops_rows(options_, layout.table.missing);
      rows_ = std::make_shared<const ArrowRows<T>>(std::move(layout), drop);
    });
    if (!first_) first_ = rows_;
    file_rows_ = 0;
  }

  // Files of one table have the same columns, in any order.
  ReadOptions options_of_file() const {
    ReadOptions options = options_;
    if (!first_ || options_.schema) return options;
    options.schema = std::make_shared<const TableSchema>(first_->layout().table);
    options.label_column = options.weight_column = "";
    options.columns = options.ignore_columns = options.categorical = {};
    return options;
  }

  // The next batch of any file; null at the end of the last.
  std::shared_ptr<arrow::RecordBatch> next() {
    for (;;) {
      options_.threads.stop.check();
      std::shared_ptr<arrow::RecordBatch> batch;
      in_file(files_[opened_ - 1], [&] {
        batch = batches_->next();
        if (!batch && file_rows_ == 0) throw Error(ErrorKind::kInput, "has no rows");
      });
      if (batch || opened_ == files_.size()) return batch;
      open_next();
    }
  }

  // False if nothing is left to do.
  bool take(Job& job) {
    const std::lock_guard lock(mutex_);
    if (taken_all_ || turns_.stopped()) return false;
    job.failure = nullptr;
    try {
      job.batch = next();
      if (!job.batch) {
        taken_all_ = true;
        return false;
      }
      if (taken_ == 0) add_notes(*job.batch);
      job.rows = rows_;
      job.file = display_name(files_[opened_ - 1].path);
      job.first_row = file_rows_;
      file_rows_ += job.batch->num_rows();
    } catch (...) {
      job.failure = std::current_exception();
      taken_all_ = true;
    }
    job.number = taken_++;
    return true;
  }

  void add_notes(const arrow::RecordBatch& batch) {
    notes_ = rows_->layout().notes;
    if (options_.schema || options_.dtype != DType::kFloat32) return;
    const auto more = coarse_notes(batch, rows_->layout());
    notes_.insert(notes_.end(), more.begin(), more.end());
  }

  void work(RowSink<T>& sink) {
    Job job;
    RowChunk<T> rows;
    while (take(job)) {
      try {
        if (job.failure == nullptr) job.rows->fill(*job.batch, job.first_row, rows);
      } catch (Error& error) {
        job.failure = std::make_exception_ptr(error.in(job.file));
      } catch (...) {
        job.failure = std::current_exception();
      }
      job.batch = nullptr;
      typename RowSink<T>::Place place;
      const bool placed = turns_.run(job.number, [&] {
        if (job.failure != nullptr) std::rethrow_exception(job.failure);
        place = sink.reserve(rows);
      });
      if (!placed) return;
      sink.put(rows, place);
    }
  }

  const std::vector<InputFile> files_;
  const ReadOptions options_;
  const OpenBatches open_;
  Turns turns_;
  Rows first_;  // of the first file

  std::mutex mutex_;  // guards these
  std::size_t opened_ = 0;
  std::unique_ptr<BatchSource> batches_;  // of the file opened last, as are these
  Rows rows_;
  std::int64_t file_rows_ = 0;
  std::int64_t taken_ = 0;
  bool taken_all_ = false;
  std::vector<std::string> notes_;
};

}  // namespace

template <class T>
std::unique_ptr<RowSource<T>> open_parquet_rows(const std::vector<InputFile>& files,
                                                const ReadOptions& options) {
  return std::make_unique<ArrowRowSource<T>>(files, options, open_parquet);
}

template <class T>
std::unique_ptr<RowSource<T>> open_arrow_rows(const std::vector<InputFile>& files,
                                              const ReadOptions& options) {
  return std::make_unique<ArrowRowSource<T>>(files, options, open_arrow);
}

template std::unique_ptr<RowSource<float>> open_parquet_rows(const std::vector<InputFile>&,
                                                             const ReadOptions&);
template std::unique_ptr<RowSource<double>> open_parquet_rows(const std::vector<InputFile>&,
                                                              const ReadOptions&);
template std::unique_ptr<RowSource<float>> open_arrow_rows(const std::vector<InputFile>&,
                                                           const ReadOptions&);
template std::unique_ptr<RowSource<double>> open_arrow_rows(const std::vector<InputFile>&,
                                                            const ReadOptions&);

}  // namespace meanwhile::data
