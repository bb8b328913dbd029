#include "meanwhile/data/files/arrow/batches.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/result.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

template <class Value>
Value value_of(arrow::Result<Value> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

// Rows of so many fields that have `cells` cells.
std::int64_t rows_of(std::int64_t cells, std::size_t fields) {
  constexpr std::int64_t kMost = std::int64_t{1} << 16;
  const auto width = static_cast<std::int64_t>(std::max<std::size_t>(fields, 1));
  return std::clamp<std::int64_t>(cells / width, 1, kMost);
}

// The bytes of a file, which stay where they are for as long as a batch uses them.
class FileBuffer : public arrow::Buffer {
 public:
  explicit FileBuffer(const BinaryFile& file)
      : arrow::Buffer(reinterpret_cast<const std::uint8_t*>(file.bytes.data()),
                      static_cast<std::int64_t>(file.bytes.size())),
        owner_(file.owner) {}

 private:
  const std::shared_ptr<const void> owner_;
};

std::shared_ptr<arrow::io::BufferReader> reader_of(const BinaryFile& file) {
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<FileBuffer>(file));
}

// The leaves of a column: several if it is a structure.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.column_index >= 0) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

class ParquetSource : public BatchSource {
 public:
  ParquetSource(const BinaryFile& file, int threads) {
    try {
      auto contents = parquet::ParquetFileReader::Open(reader_of(file));
      auto properties = parquet::default_arrow_reader_properties();
      properties.set_use_threads(threads > 1);
      properties.set_pre_buffer(false);  // the bytes are in memory, or mapped
      // Words that recur are stored once, and are read so.
      const auto* const columns = contents->metadata()->schema();
      for (int i = 0; i < columns->num_columns(); ++i) {
        const auto& leaf = *columns->Column(i);
        const bool text = leaf.logical_type() != nullptr && leaf.logical_type()->is_string();
        if (text) properties.set_read_dictionary(i, true);
      }
      reader_ = value_of(parquet::arrow::FileReader::Make(arrow::default_memory_pool(),
                                                          std::move(contents), properties));
      check(reader_->GetSchema(&schema_));
    } catch (const parquet::ParquetException& failure) {
      throw Error(ErrorKind::kInput, "cannot be read as Parquet: {}", failure.what());
    }
  }
  const arrow::Schema& schema() const override { return *schema_; }
  void start(const std::vector<int>& fields) override {
    std::vector<int> groups, leaves;
    for (int i = 0; i < reader_->num_row_groups(); ++i) groups.push_back(i);
    for (const int field : fields) {
      add_leaves(reader_->manifest().schema_fields[static_cast<std::size_t>(field)], leaves);
    }
    constexpr std::int64_t kCells = std::int64_t{1} << 21;  // decoded at a time
    reader_->set_batch_size(rows_of(kCells, leaves.size()));
    batches_ = value_of(reader_->GetRecordBatchReader(groups, leaves));
  }

 protected:
  std::shared_ptr<arrow::RecordBatch> next_whole() override {
    try {
      std::shared_ptr<arrow::RecordBatch> batch;
      check(batches_->ReadNext(&batch));
      return batch;
    } catch (const parquet::ParquetException& failure) {
      throw Error(ErrorKind::kInput, "cannot be read as Parquet: {}", failure.what());
    }
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

// A file of Arrow's IPC format (Feather 2), or a stream of it.
class IpcSource : public BatchSource {
 public:
  IpcSource(const BinaryFile& file, int threads)
      : input_(reader_of(file)), options_(arrow::ipc::IpcReadOptions::Defaults()) {
    constexpr std::string_view kMagic = "ARROW1";
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.data()),
                                 file.bytes.size());
    is_file_ = bytes.starts_with(kMagic);
    options_.use_threads = threads > 1;
    open();
  }
  const arrow::Schema& schema() const override { return *schema_; }
  void start(const std::vector<int>& fields) override {
    options_.included_fields = fields;
    if (!is_file_) check(input_->Seek(0));
    open();
  }

 protected:
  std::shared_ptr<arrow::RecordBatch> next_whole() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (!is_file_) {
      check(stream_->ReadNext(&batch));
    } else if (number_ < file_->num_record_batches()) {
      batch = value_of(file_->ReadRecordBatch(number_++));
    }
    // Offsets and sizes in the file are not to be believed.
    if (batch) check(batch->ValidateFull());
    return batch;
  }

 private:
  void open() {
    if (is_file_) {
      file_ = value_of(arrow::ipc::RecordBatchFileReader::Open(input_.get(), options_));
      schema_ = file_->schema();
    } else {
      stream_ = value_of(arrow::ipc::RecordBatchStreamReader::Open(input_.get(), options_));
      schema_ = stream_->schema();
    }
  }
  const std::shared_ptr<arrow::io::BufferReader> input_;
  arrow::ipc::IpcReadOptions options_;
  bool is_file_ = false;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;
  std::shared_ptr<arrow::Schema> schema_;
  int number_ = 0;
};

}  // namespace

std::shared_ptr<arrow::RecordBatch> BatchSource::next() {
  while (!whole_ || begin_ == whole_->num_rows()) {
    whole_ = next_whole();
    begin_ = 0;
    if (!whole_) return nullptr;
  }
  constexpr std::int64_t kCells = std::int64_t{1} << 17;
  const std::int64_t count =
      std::min(rows_of(kCells, static_cast<std::size_t>(whole_->num_columns())),
               whole_->num_rows() - begin_);
  auto some = whole_->Slice(begin_, count);
  begin_ += count;
  return some;
}

void check(const arrow::Status& status) {
  if (status.ok()) return;
  if (status.IsOutOfMemory()) throw Error(ErrorKind::kSystem, "{}", status.message());
  throw Error(ErrorKind::kInput, "cannot be read: {}", status.message());
}

std::unique_ptr<BatchSource> open_parquet(const BinaryFile& file, int threads) {
  check(arrow::SetCpuThreadPoolCapacity(threads));
  return std::make_unique<ParquetSource>(file, threads);
}

std::unique_ptr<BatchSource> open_arrow(const BinaryFile& file, int threads) {
  check(arrow::SetCpuThreadPoolCapacity(threads));
  return std::make_unique<IpcSource>(file, threads);
}

}  // namespace meanwhile::data
