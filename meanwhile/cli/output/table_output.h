// Numbers as a result: NPY or lines of text, to a file or to standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "meanwhile/cli/output/console.h"

namespace meanwhile::cli {

// THROWS Error(kUsage) when `out` is no name that can be written to: what ends in .csv, .tsv or
// .parquet is a table with a header, in .npy or .txt numbers alone; "-" or nothing is text on
// standard output. `flag`: that named it.
void check_table_name(const std::string& out, const char* flag = "--out");

// Rows come in any number of calls; nothing is at `out` before commit(). NaN is nothing in text.
// T: std::int32_t, double.
template <class T>
class TableOutput {
 public:
  using Value = T;
  // REQUIRES: check_table_name(out). cols == 1 is one-dimensional in NPY.
  TableOutput(Console& console, const std::string& out, std::int64_t rows, std::int64_t cols);
  ~TableOutput();
  TableOutput(TableOutput&&) noexcept;

  // Whole rows. THROWS Error(kSystem), ReaderGone.
  void append(std::span<const T> values);
  void commit();

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace meanwhile::cli
