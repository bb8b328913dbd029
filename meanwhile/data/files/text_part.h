// One of several parts of plain text files, each parsed by another worker.
//
// The files, one behind the other, are cut into `parts` ranges of bytes of equal size. A row
// belongs to the part in whose range it begins, so every row is parsed once, and the parts in order
// are the rows in order. A range of CSV may begin between quotes, which only the ranges before it
// can tell: every part scans its quotes, the workers exchange the results, then all parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/quote_scan.h"

namespace meanwhile::data {

// Whether TextPart can read the files: uncompressed text of one format whose TextKind allows it.
bool can_cut(const std::vector<InputFile>& files);

// The first error of a part.
struct TextFailure {
  std::size_t file = 0;
  base::Error error;
};

// How far the parsing of a part came.
struct TextOutcome {
  std::vector<std::int64_t> rows_of_file;  // rows parsed, by file
  std::optional<TextFailure> failure;
};

struct TextRows {
  // Rows of this part, with columns and class names (in order of first appearance) of this part.
  // Empty after a failure.
  Dataset data;
  TextOutcome outcome;
  TableCounts counts = {};  // of a table: what was counted in these rows
};

class TextPart {
 public:
  virtual ~TextPart() = default;

  // For each file, what the quotes in this part of it do. Reads the part once if the format has
  // quotes.
  virtual std::vector<QuoteMap> quotes() const = 0;

  // Parses the part, given quotes() of every part. Errors in the text are returned.
  virtual TextRows parse(const std::vector<std::vector<QuoteMap>>& quotes_of_parts) = 0;
};

// Opens every file and reads its header, which holds for all parts. An error in a header is kept
// for parse(), so that errors come in order. REQUIRES: can_cut(files), 0 <= part < parts.
// THROWS Error if a file cannot be read.
std::unique_ptr<TextPart> text_part(const std::vector<InputFile>& files, const ReadOptions& options,
                                    int part, int parts);

// THROWS the error that reading the files from front to back would meet first, if there is one.
// `parts`: the outcomes of all parts, in order.
void throw_first(const std::vector<InputFile>& files, const std::vector<TextOutcome>& parts);

}  // namespace meanwhile::data
