// Appends data sets to a sink, one after another.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/row_sink.h"

namespace meanwhile::data {

// Holds the properties that all data sets of one sink must share.
class Appender {
 public:
  // Gives the rows of `data` to `sink` in pieces, and releases the pages of mapped data.
  // REQUIRES: the first data set has values of type T, and is dense or sparse as the sink is.
  // THROWS as check().
  template <class T>
  void append(const Dataset& data, const std::string& name, RowSink<T>& sink);

  // THROWS Error(kInput), naming both files, if `data` differs from the first data set: dense or
  // sparse, type, columns (dense only), labels, weights or names.
  void check(const Dataset& data, const std::string& name) const;

  RowsDescription description() const;

 private:
  std::string first_name_;
  Dataset first_;  // its rows are never read
  std::int64_t cols_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace meanwhile::data
