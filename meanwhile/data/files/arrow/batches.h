// Files that Apache Arrow reads, as groups of rows with typed columns.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/status.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/data/files/reader.h"

namespace meanwhile::data {

// Thread safety: one call at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const arrow::Schema& schema() const = 0;
  // Begins to read these fields of the schema, in its order. Called once. THROWS Error(kInput).
  virtual void start(const std::vector<int>& fields) = 0;
  // The next rows: few enough for their cells to stay in the cache. Null at the end. THROWS
  // Error(kInput) without the name of the file.
  std::shared_ptr<arrow::RecordBatch> next();

 protected:
  // The next rows, as many as the file has together. Null at the end.
  virtual std::shared_ptr<arrow::RecordBatch> next_whole() = 0;

 private:
  std::shared_ptr<arrow::RecordBatch> whole_;
  std::int64_t begin_ = 0;  // of the rows that are left of it
};

// `threads` decode the columns of a batch. THROWS Error(kInput) without the name of the file.
std::unique_ptr<BatchSource> open_parquet(const BinaryFile& file, int threads);
std::unique_ptr<BatchSource> open_arrow(const BinaryFile& file, int threads);

// THROWS Error for a failure that Arrow reports: kSystem when memory is out, else kInput.
void check(const arrow::Status& status);

}  // namespace meanwhile::data
