// Text parsed into rows, in parallel and in one pass. Threads take chunks from the files one after
// another, parse them, and put the rows in place in the order of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/text/row_chunk.h"
#include "meanwhile/data/text/row_sink.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

// Parses the chunks of one file. Thread safety: any number of calls at the same time.
template <class T>
class TextParser {
 public:
  virtual ~TextParser() = default;
  // Where text may be cut; see TextSource::next.
  virtual std::size_t cut(std::string_view text) const { return cut_at_line(text); }
  // Clears `rows` and fills it. REQUIRES: whole records, the last byte is '\n', kTextPadding
  // readable bytes follow. THROWS BadText.
  virtual void parse(std::string_view text, RowChunk<T>& rows) const = 0;
  // Called at the end of the file with the number of rows and values parsed. Returns the number of
  // rows that the file must have, at least `rows`; empty rows are added. THROWS Error without the
  // name of the file.
  virtual std::int64_t end(std::int64_t rows, std::int64_t /*stored*/) const { return rows; }
};

// A format, and what the files of a data set have in common.
template <class T>
class TextFormat {
 public:
  virtual ~TextFormat() = default;
  virtual bool sparse() const = 0;
  // Reads the start of a file and skips its header. Called in order of the files.
  // THROWS BadText with an offset into head(), or Error with the name of the file.
  virtual std::shared_ptr<const TextParser<T>> open(TextSource& source) = 0;
  // REQUIRES: all files were opened.
  virtual RowsDescription description() const = 0;
};

// format.open(source). THROWS Error(kInput) with file, line and column instead of BadText.
template <class T>
std::shared_ptr<const TextParser<T>> open_parser(TextFormat<T>& format, TextSource& source);

struct TextInput {
  std::filesystem::path path;
  std::shared_ptr<TextSource> opened;  // absent: opened when its turn comes
  // Present: only this range of the file is parsed, and it may hold no rows. Messages still count
  // lines from the start of the file.
  std::optional<TextRange> range = std::nullopt;
};

// Parses `inputs` into `sink`. THROWS the first error in order of the files, the same for every
// `threads`: Error(kInput) "FILE: line L, column C: found X, expected Y"; columns count bytes
// from 1.
template <class T>
void parse_text(const std::vector<TextInput>& inputs, TextFormat<T>& format, RowSink<T>& sink,
                base::Threads threads, const ChunkLimits& limits = {});

}  // namespace meanwhile::data
