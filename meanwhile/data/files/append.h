// Data sets poured into a sink, one after the other.
#pragma once

#include <string>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/row_sink.h"

namespace meanwhile::data {

// What the data sets of one sink must agree on.
class Appender {
 public:
  // Pours the rows of `data` into `sink`, in pieces, and gives the pages of mapped data back.
  // REQUIRES: the matrix of the first data set is of T, and dense or sparse as the sink is.
  // THROWS what check() does.
  template <class T>
  void append(const Dataset& data, const std::string& name, RowSink<T>& sink);

  // THROWS Error(kInput), naming both files, when `data` does not go with what was appended before:
  // dense or sparse, type, columns (sparse: any), labels, weights and names.
  void check(const Dataset& data, const std::string& name) const;

  RowsDescription description() const;

 private:
  std::string first_name_;
  Dataset first_;  // without its rows
  std::int64_t cols_ = 0;
};

}  // namespace meanwhile::data
