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
// A file that another process cuts short raises SIGBUS where its pages are touched: mapped_files.h
// says which file it was.
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
  int slot_ = -1;  // in the table of mapped files
};

// Tells the system that the file pages behind `bytes` need not stay resident. They are read again
// from the file when touched. REQUIRES: `bytes` lie in a MappedFile. Memory of a Buffer is given
// back by discard_pages (buffer.h), which loses its content.
void release_mapped(std::span<const std::byte> bytes);
// The same for all of `array` in the 2 MiB of addresses that `bytes`, a part of it, lie in:
// touching a page of a file maps others around it, as far as the system likes within a huge page.
void release_mapped_around(std::span<const std::byte> bytes, std::span<const std::byte> array);

// Maps all pages of `bytes` of a MappedFile now, so that no later access waits for one. Best
// effort.
void populate_mapped(std::span<const std::byte> bytes);

// The ending of the names that FileWriter uses. A file of such a name that no process writes is
// what a killed process left.
inline constexpr std::string_view kPartialEnding = ".partial";

// How much of a written file survives a loss of power.
enum class Sync {
  kNone,  // nothing for certain
  kFile,  // the old file or the new one, whole
  kAll,   // the new one
};

// Writes a file of a name of its own beside `path`, so that several writers never share one. On
// commit() syncs it, renames it to `path` and syncs the directory. Destroyed without commit(), it
// removes the partial file. THROWS Error(kSystem): disk full, no permission.
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
  // Reads what was written before. THROWS Error(kSystem) when there are fewer bytes.
  void read_at(std::size_t offset, std::span<std::byte> bytes) const;
  std::size_t size() const { return size_; }
  void commit(Sync sync = Sync::kAll);

 private:
  std::filesystem::path path_, partial_;
  int fd_ = -1;
  std::size_t size_ = 0;
};

// Writes the whole of `text` to `path` through a FileWriter.
void write_file(const std::filesystem::path& path, std::string_view text, Sync sync = Sync::kAll);

// Makes names that were added to, renamed in or removed from `folder` survive a loss of power.
// File systems that cannot do so are left alone. THROWS Error(kSystem).
void sync_directory(const std::filesystem::path& folder);

// Removes files of partial names below `folder`. REQUIRES: no process writes there.
void remove_partials(const std::filesystem::path& folder);

// Adds `text` and an end of line to the file, in one piece: lines of several processes do not mix.
// THROWS Error(kSystem).
void append_line(const std::filesystem::path& path, std::string_view text);

// The whole of a small file. THROWS Error(kInput).
std::string read_file(const std::filesystem::path& path);

}  // namespace meanwhile::base
