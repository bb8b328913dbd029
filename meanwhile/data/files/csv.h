// Comma-separated values and their kin: dense rows, one a record; see csv_layout.h for what the
// first lines decide.
#pragma once

#include <optional>
#include <string>

#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

// All files have the fields of the first; a header may stand in each.
template <class T>
class CsvFormat : public TextFormat<T> {
 public:
  explicit CsvFormat(ReadOptions options) : options_(std::move(options)) {}
  bool sparse() const override { return false; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override;
  RowsDescription description() const override;

 private:
  ReadOptions options_;
  std::string first_file_;
  CsvLayout layout_;  // of first_file_
};

}  // namespace meanwhile::data
