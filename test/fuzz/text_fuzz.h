// Text readers: the whole file at once, and again in tiny chunks, must agree on every bit or on the
// error. Threads are slow to start, so only one input in eight is parsed by two.
#pragma once

#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/text/parse_text.h"
#include "test/fuzz/fuzz.h"

namespace meanwhile::fuzz {

struct Parsed {
  std::string error, sha256;
  bool operator==(const Parsed&) const = default;
};

template <class T>
Parsed parse(const MemoryFile& file, data::TextFormat<T>& format, const data::ReadOptions& options,
             int threads, std::size_t chunk_bytes) {
  Parsed parsed;
  parsed.error = outcome([&] {
    data::ChunkLimits limits;
    limits.chunk_bytes = chunk_bytes;
    data::MemorySink<T> sink(format.sparse());
    data::parse_text<T>({{file.path(), nullptr}}, format, sink, threads, limits);
    data::InputFile input;
    input.path = file.path();
    const data::Dataset dataset = data::settled_rows(sink, format.description(), options, input);
    if (data::cols(dataset.x) == 0) return;  // only empty rows; read() refuses them
    walk(dataset);
    parsed.sha256 = data::sha256(dataset, 1);
  });
  return parsed;
}

template <class T>
void check_text(std::span<const std::byte> bytes, const data::Reader& reader,
                const data::ReadOptions& options) {
  static MemoryFile file;
  file.set(bytes);
  // A format is used for one parse.
  const auto whole_format = data::open_as<T>(*reader.text(), options);
  const auto pieces_format = data::open_as<T>(*reader.text(), options);
  const Parsed whole = parse<T>(file, *whole_format, options, 1, bytes.size() + 1);
  const Parsed pieces = parse<T>(file, *pieces_format, options, bytes.size() % 8 == 0 ? 2 : 1, 1);
  if (whole != pieces) {
    fail("whole: " + whole.error + whole.sha256 + "\npieces: " + pieces.error + pieces.sha256);
  }
}

}  // namespace meanwhile::fuzz
