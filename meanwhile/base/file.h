// Files read by mapping and written beside their name, then renamed: a reader sees the old file or
// the whole new one, never a half.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace meanwhile::base {

// A whole file, read-only, mapped. THROWS Error(kInput) when it cannot be opened or is a directory.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Tells the system that the file pages behind `bytes` need not stay resident. They are read again
// from the file when touched. REQUIRES: `bytes` lie in a MappedFile. Memory of a Buffer is given
// back by discard_pages (buffer.h), which loses its content.
void release_mapped(std::span<const std::byte> bytes);

// Maps all pages of `bytes` of a MappedFile now, so that no later access waits for one. Best
// effort.
void populate_mapped(std::span<const std::byte> bytes);

// Writes path + ".partial", and on commit() syncs it and renames it to `path`. Destroyed without
// commit(), it removes the partial file. THROWS Error(kSystem): disk full, no permission.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Overwrites `bytes.size()` bytes at `offset`; the end of the file, where write() goes on, stays.
  void write_at(std::size_t offset, std::span<const std::byte> bytes);
  std::size_t size() const { return size_; }
  void commit();

 private:
  std::filesystem::path path_, partial_;
  int fd_ = -1;
  std::size_t size_ = 0;
};

// Writes the whole of `text` to `path` through a FileWriter.
void write_file(const std::filesystem::path& path, std::string_view text);

// Adds `text` and an end of line to the file, in one piece: lines of several processes do not mix.
// THROWS Error(kSystem).
void append_line(const std::filesystem::path& path, std::string_view text);

// The whole of a small file. THROWS Error(kInput).
std::string read_file(const std::filesystem::path& path);

}  // namespace meanwhile::base
