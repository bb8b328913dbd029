// Text to rows, in parallel and in one pass: chunks are taken from the files one after another,
// parsed by whichever thread is free, and put in their place in the order of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "meanwhile/data/text/row_chunk.h"
#include "meanwhile/data/text/row_sink.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

// Parses the chunks of one file. Thread safety: const, so any number at a time.
template <class T>
class TextParser {
 public:
  virtual ~TextParser() = default;
  // Where text may be cut; see TextSource::next.
  virtual std::size_t cut(std::string_view text) const { return cut_at_line(text); }
  // Clears `rows` and fills it. REQUIRES: whole records, the last byte is '\n', kTextPadding
  // readable bytes follow. THROWS BadText.
  virtual void parse(std::string_view text, RowChunk<T>& rows) const = 0;
  // Called when the file has ended with what was in it; returns the rows it must have, at least
  // `rows`: empty ones are added. THROWS Error without the name of the file.
  virtual std::int64_t end(std::int64_t rows, std::int64_t /*stored*/) const { return rows; }
};

// A format with what its files have in common.
template <class T>
class TextFormat {
 public:
  virtual ~TextFormat() = default;
  virtual bool sparse() const = 0;
  // Looks at the start of a file and skips its header. Called in order of the files.
  // THROWS BadText with an offset into head(), or Error with the name of the file.
  virtual std::shared_ptr<const TextParser<T>> open(TextSource& source) = 0;
  // After all files were opened.
  virtual RowsDescription description() const = 0;
};

// format.open(source). THROWS Error(kInput) with file, line and column instead of BadText.
template <class T>
std::shared_ptr<const TextParser<T>> open_parser(TextFormat<T>& format, TextSource& source);

struct TextInput {
  std::filesystem::path path;
  std::shared_ptr<TextSource> opened;  // absent: opened when its turn comes
  // Present: only this range of the file, which may hold no rows. Lines are still those of the
  // file.
  std::optional<TextRange> range = std::nullopt;
};

// Parses `inputs` into `sink`. Of several errors the first in order of the files is thrown,
// whatever `threads` is: Error(kInput) "FILE: line L, column C: found X, expected Y"; columns count
// bytes from 1.
template <class T>
void parse_text(const std::vector<TextInput>& inputs, TextFormat<T>& format, RowSink<T>& sink,
                int threads, const ChunkLimits& limits = {});

}  // namespace meanwhile::data
