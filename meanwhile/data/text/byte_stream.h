// Bytes of a file from front to back, decompressed on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "meanwhile/base/buffer.h"

namespace meanwhile::data {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills the front of `out` and returns the number of bytes; 0 only at the end. REQUIRES: out is
  // not empty. THROWS Error(kInput), beginning with the name of the file, if compressed data is
  // corrupt or cut short, and Error(kSystem) if the disk fails.
  virtual std::size_t read(std::span<char> out) = 0;
};

// Opens a file, or standard input if `path` is "-". Files whose names end in .gz or .zst are
// decompressed (concatenated members and frames are one stream), and so is standard input if it
// begins like one of them. Files are read, not mapped: pages of a mapped file would count as memory
// of this process. THROWS Error(kInput) if the file cannot be opened.
std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& path);

// Bytes [begin, end) of a plain file. THROWS as above, and Error(kInput) if the file ends before.
std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& path, std::int64_t begin,
                                       std::int64_t end);

// Bytes in memory.
std::unique_ptr<ByteStream> open_bytes(std::shared_ptr<const base::Buffer<std::byte>> bytes);

// Whether the name says that the file is compressed: it ends in .gz or .zst.
bool is_compressed(const std::filesystem::path& path);
// The path without .gz or .zst.
std::filesystem::path uncompressed_name(const std::filesystem::path& path);

// The name of the file in messages.
std::string display_name(const std::filesystem::path& path);

}  // namespace meanwhile::data
