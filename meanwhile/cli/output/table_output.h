// A table of numbers as a result: NPY or lines of text, to a file or to standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "meanwhile/cli/output/console.h"

namespace meanwhile::cli {

// THROWS Error(kUsage) when `out` is no name that can be written to: what ends in .npy is NPY, in
// .csv or .txt text; "-" or nothing is text on standard output.
void check_table_name(const std::string& out);

// Makes the values of rows [begin, end) NaN that `incomplete` lists, in order: they lack a value,
// and have no answer. `values`: `cols` for each of these rows.
void blank_rows(std::span<double> values, std::int64_t begin, std::int64_t end, std::int64_t cols,
                std::span<const std::int64_t> incomplete);

// Rows come in any number of calls; nothing is at `out` before commit(). NaN is nothing in text.
// T: std::int32_t, double.
template <class T>
class TableOutput {
 public:
  // REQUIRES: check_table_name(out). cols == 1 is one-dimensional in NPY.
  TableOutput(Console& console, const std::string& out, std::int64_t rows, std::int64_t cols);
  ~TableOutput();

  // Whole rows. THROWS Error(kSystem), ReaderGone.
  void append(std::span<const T> values);
  void commit();

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace meanwhile::cli
