// Typed columns become raw rows of a table.
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>

#include "meanwhile/data/files/arrow/layout.h"
#include "meanwhile/data/files/table_rows.h"
#include "meanwhile/data/text/row_chunk.h"

namespace meanwhile::data {

// Thread safety: immutable.
template <class T>
class ArrowRows {
 public:
  // `drop`: rows that lack a value.
  ArrowRows(ArrowLayout layout, bool drop);

  // Clears `rows` and fills it with those of a batch that has the fields layout.used(), the first
  // of which is row `first` of its file. THROWS Error(kInput) without the name of the file.
  void fill(const arrow::RecordBatch& batch, std::int64_t first, RowChunk<T>& rows) const;

  const ArrowLayout& layout() const { return layout_; }

 private:
  const ArrowLayout layout_;
  const TableRows<T> table_;
};

// A note if numbers of the batch are too close to each other for float32.
std::vector<std::string> coarse_notes(const arrow::RecordBatch& batch, const ArrowLayout& layout);

}  // namespace meanwhile::data
