// Writes rows to a safetensors file in bounded memory. Values go straight to their place in the
// file; all other arrays wait in spools and follow the values.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "meanwhile/base/file.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/data/files/convert.h"
#include "meanwhile/data/files/spool.h"
#include "meanwhile/data/text/row_sink.h"

namespace meanwhile::data {

template <class T>
class FileSink : public RowSink<T> {
 public:
  using typename RowSink<T>::Place;
  FileSink(std::filesystem::path out, bool sparse);

  // Writes the chunk here, because calls come in order; put() has nothing left to do.
  Place reserve(RowChunk<T>& chunk) override;
  void put(const RowChunk<T>&, const Place&) override {}

  // Counts of a table over all rows.
  const TableCounts& counts() const { return totals_.table; }
  std::int64_t rows() const { return static_cast<std::int64_t>(totals_.rows); }
  // Reads rows [first, first + count) of `width` values back, with labels and weights. REQUIRES:
  // dense; finish() was not called.
  void read_rows(std::int64_t first, std::int64_t count, std::size_t width,
                 RowChunk<T>& chunk) const;

  // Labels and weights of all rows, from files of their own. REQUIRES: all rows were put.
  void put_columns(const Dataset& labelled);

  std::int64_t cols(const RowsDescription& description) const;
  // Writes the other arrays and the header, and renames the file to its name.
  ConvertResult finish(const RowsDescription& description);

 private:
  struct Array;
  std::vector<Array> arrays(std::int64_t cols) const;
  void write(std::span<const std::byte> bytes);
  void make_room(std::size_t header_bytes);

  const std::filesystem::path out_;
  const bool sparse_;
  RowTotals<T> totals_;
  std::vector<std::int64_t> row_start_;  // of a chunk
  base::FileWriter file_;
  base::Sha256 hash_;  // of what was written behind the header
  Spool starts_, columns_, weights_, labels_;
};

}  // namespace meanwhile::data
