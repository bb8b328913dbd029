// The rows of a file as the bytes they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

class RowText {
 public:
  virtual ~RowText() = default;

  // The bytes before the rows of every file; known when the file was opened.
  const std::string& header() const { return header_; }
  // The bytes that a file of so many rows begins with instead. REQUIRES: header() is empty.
  virtual std::string header_of(std::int64_t /*rows*/) const { return {}; }

  // Calls use(row) for each row, with its line end. `label`: null, or receives the text of its
  // label before. THROWS Error(kInput) with file and place.
  using Use = std::function<void(std::string_view row)>;
  virtual void each(std::string* label, const Use& use) = 0;

 protected:
  std::string header_;
};

// Opens `file`. `options.label_column` says where the label of a row is; empty: libsvm's is at the
// start of the line, and other formats have none. THROWS Error(kUsage) for a format whose rows
// cannot be copied, Error(kInput) when the file cannot be read.
std::unique_ptr<RowText> open_row_text(const InputFile& file, const ReadOptions& options);

}  // namespace meanwhile::data
