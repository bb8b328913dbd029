// The rows of all files of a data set, in order, whatever their formats.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/row_sink.h"

namespace meanwhile::data {

template <class T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Whether the rows need a sparse sink.
  virtual bool sparse() const = 0;
  // Reads every file and gives its rows to `sink`. REQUIRES: called once. THROWS as read().
  virtual RowsDescription pour(RowSink<T>& sink) = 0;
};

using AnyRowSource =
    std::variant<std::unique_ptr<RowSource<float>>, std::unique_ptr<RowSource<double>>>;

// Files of one text or columnar format are read as if they were one, in bounded memory. All others
// are read one by one: a file is mapped or held whole until its rows are poured. Then the first one
// decides the type and whether rows are sparse, and is read here.
// REQUIRES: files is not empty; `options` are those of with_vocabulary(). THROWS as read().
AnyRowSource open_rows(const std::vector<InputFile>& files, const ReadOptions& options);

// The data set of all rows that `sink` has, for a single worker: rows of a table are encoded.
// `first`: the first file, for messages. THROWS as read().
template <class T>
Dataset settled_rows(MemorySink<T>& sink, RowsDescription description, const ReadOptions& options,
                     const InputFile& first);

// The data set of one file, whatever its format. THROWS as read().
Dataset read_one(const InputFile& file, const ReadOptions& options);

// Whether all files have one text format, so that they are parsed as if they were one file.
// REQUIRES: files is not empty.
bool is_one_text(const std::vector<InputFile>& files);

}  // namespace meanwhile::data
