#include "meanwhile/data/files/parquet_writer.h"

#include <arrow/builder.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/files/arrow/batches.h"

namespace meanwhile::data {

namespace {

// The file that Arrow writes to, as every other is written: beside its name, then renamed.
class Output : public arrow::io::OutputStream {
 public:
  explicit Output(const std::filesystem::path& path) : file_(path) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override {
    return static_cast<std::int64_t>(file_.size());
  }
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    file_.write(std::span(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)));
    return arrow::Status::OK();
  }
  void commit() { file_.commit(); }

 private:
  base::FileWriter file_;
  bool closed_ = false;
};

template <class Builder, class Put>
std::shared_ptr<arrow::Array> column(std::span<const double> values, std::int64_t rows,
                                     std::size_t width, const Put& put) {
  Builder builder;
  check(builder.Reserve(rows));
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    const double value = values[i * width];
    check(value == value ? put(builder, value) : builder.AppendNull());
  }
  std::shared_ptr<arrow::Array> array;
  check(builder.Finish(&array));
  return array;
}

}  // namespace

struct ParquetWriter::File {
  std::shared_ptr<arrow::Schema> schema;
  std::vector<std::string> words;
  bool whole = false;
  std::shared_ptr<Output> output;
  std::unique_ptr<parquet::arrow::FileWriter> writer;

  std::shared_ptr<arrow::Array> array(std::span<const double> values, std::int64_t rows,
                                      std::size_t j, std::size_t width) const {
    const auto from = values.subspan(j);
    if (j == 0 && !words.empty()) {
      return column<arrow::StringBuilder>(from, rows, width, [this](auto& builder, double value) {
        return builder.Append(words[static_cast<std::size_t>(value)]);
      });
    }
    if (j == 0 && whole) {
      return column<arrow::Int32Builder>(from, rows, width, [](auto& builder, double value) {
        return builder.Append(static_cast<std::int32_t>(value));
      });
    }
    return column<arrow::DoubleBuilder>(
        from, rows, width, [](auto& builder, double value) { return builder.Append(value); });
  }
};

void check_can_write_parquet() {}

ParquetWriter::ParquetWriter(const std::filesystem::path& path,
                             const std::vector<std::string>& names, std::vector<std::string> words,
                             bool whole)
    : file_(new File{nullptr, std::move(words), whole, std::make_shared<Output>(path), nullptr}) {
  arrow::FieldVector fields;
  for (const std::string& name : names) {
    const bool first = fields.empty();
    fields.push_back(arrow::field(name, first && !file_->words.empty() ? arrow::utf8()
                                        : first && whole               ? arrow::int32()
                                                                       : arrow::float64()));
  }
  file_->schema = arrow::schema(std::move(fields));
  const auto properties =
      parquet::WriterProperties::Builder().compression(arrow::Compression::SNAPPY)->build();
  auto opened = parquet::arrow::FileWriter::Open(*file_->schema, arrow::default_memory_pool(),
                                                 file_->output, properties);
  check(opened.status());
  file_->writer = *std::move(opened);
}

ParquetWriter::~ParquetWriter() = default;

void ParquetWriter::append(std::span<const double> values, std::int64_t rows) {
  const auto width = static_cast<std::size_t>(file_->schema->num_fields());
  arrow::ArrayVector arrays;
  for (std::size_t j = 0; j < width; ++j) {
    arrays.push_back(file_->array(values, rows, j, width));
  }
  check(file_->writer->WriteRecordBatch(*arrow::RecordBatch::Make(file_->schema, rows, arrays)));
}

void ParquetWriter::commit() {
  check(file_->writer->Close());
  file_->output->commit();
}

}  // namespace meanwhile::data
