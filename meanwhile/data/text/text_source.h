// A text file in pieces that can be parsed independently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/stop.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/number.h"

namespace meanwhile::data {

// Readable bytes behind the end of a chunk, so that parsers may load whole words.
inline constexpr std::size_t kTextPadding = 32;
static_assert(kTextPadding >= kNumberPadding);

// Whole records; the last byte is '\n' unless the chunk is empty. Reused, so it keeps its memory.
class TextChunk {
 public:
  std::string_view text() const { return {buffer_.data() + begin_, size_}; }

 private:
  friend class TextSource;
  base::Buffer<char> buffer_;
  std::size_t begin_ = 0, size_ = 0;
};

struct ChunkLimits {
  std::size_t chunk_bytes = 1 << 20;       // the least size but at the end; it fits in the cache
  std::size_t longest_record = 1UL << 30;  // a longer record means that this is not a text file
};

// Bytes of a plain text file, from the start of a record to the start of another or the file's end.
struct TextRange {
  std::int64_t begin = 0, end = 0;
};

// Thread safety: none; the driver takes chunks under a lock.
class TextSource {
 public:
  // Opens the file (see open_bytes) and skips a byte order mark.
  explicit TextSource(const std::filesystem::path& path);
  // `bytes` is the whole file, read before.
  TextSource(const std::filesystem::path& path,
             std::shared_ptr<const base::Buffer<std::byte>> bytes);
  // Opens a range of the file; a byte order mark is not looked for.
  TextSource(const std::filesystem::path& path, TextRange range);

  const std::string& name() const { return name_; }

  // The text from here on, at least `bytes` of it unless the file ends before. Valid until the next
  // call of any member.
  std::string_view head(std::size_t bytes);
  // Consumes the first `bytes` bytes of head().
  void skip(std::size_t bytes);
  // Bytes of the stream before head(). REQUIRES: no call of next() before.
  std::int64_t offset() const { return static_cast<std::int64_t>(begin_); }
  // Lines that skip() consumed.
  std::int64_t lines_skipped() const { return lines_skipped_; }

  // Fills `chunk`; false at the end. `cut` returns the length of the longest prefix of its argument
  // that ends at a record's end, 0 if there is none. A file that ends without '\n' gets one. If the
  // stream fails, the text before the failure is handed out first and then the error is thrown, so
  // that the errors of a file come in order. THROWS also BadText for a record that is too long.
  template <class Cut>
  bool next(const ChunkLimits& limits, const Cut& cut, TextChunk& chunk) {
    for (std::size_t want = limits.chunk_bytes;; want *= 2) {
      fill(want);
      if (const std::size_t size = cut(pending()); size > 0) return hand_out(size, chunk);
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      check_length(limits);
      if (ended_) return begin_ < end_ && hand_out(end_ - begin_, chunk);
    }
  }

  // THROWS BadText if the pending text is longer than any record may be.
  void check_length(const ChunkLimits& limits) const;

  // The whole file, for formats that are not text. REQUIRES: no call of skip() or next() before.
  base::Buffer<std::byte> rest(base::Stop stop = {});

 private:
  TextSource(std::string name, std::unique_ptr<ByteStream> stream);
  std::string_view pending() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Reads until `bytes` are pending, or the stream ended or failed.
  void fill(std::size_t bytes);
  bool hand_out(std::size_t size, TextChunk& chunk);

  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  base::Buffer<char> buffer_;  // pending text is [begin_, end_)
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t lines_skipped_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
};

// The most common `cut`: behind the last line end.
std::size_t cut_at_line(std::string_view text);

}  // namespace meanwhile::data
