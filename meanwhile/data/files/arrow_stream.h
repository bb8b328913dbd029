// Tables of other programs, by Arrow's C stream interface: an ABI of three structs that polars,
// pandas, pyarrow, DuckDB and others hand out, without their libraries. Its specification asks that
// the definitions be copied: https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once

#include <cstdint>
#include <optional>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// The rows of a table whose columns are numbers or booleans, with its names of columns. `dtype` not
// set: float32 when no column needs more, else float64. Releases the stream, also when it throws.
// One pass over the columns, by `threads`; they and the rows are in memory together. THROWS
// Error(kInput) that names the column of another type, or column and row of a value that is
// missing; Error(kSystem) with the words of the stream.
Dataset read_arrow_stream(ArrowArrayStream& stream, std::optional<DType> dtype,
                          base::Threads threads);

}  // namespace meanwhile::data
