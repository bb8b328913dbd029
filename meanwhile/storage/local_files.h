// File operations that local blobs and the local queue share. local.h has the whole picture.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "meanwhile/storage/blob_store.h"
#include "meanwhile/storage/queue.h"
#include "meanwhile/storage/root_folder.h"
#include "meanwhile/storage/usage.h"

namespace meanwhile::storage {

// Differs whenever a file was written by LocalFiles::write().
std::string etag_of(const struct stat& status);

// A file below partial/, whole. Removed when this goes, unless it was moved away.
class PartialFile {
 public:
  PartialFile(Descriptor folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {}
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  // Each returns 0 or sets errno. `name` is the last word, below the open `folder`.
  int move_to(int folder, const std::string& name);
  int link_to(int folder, const std::string& name) const;

  std::string etag;
  std::int64_t written_ns = 0;  // by the clock of the file system

 private:
  Descriptor folder_;
  std::string name_;
};

// Holds flock(); freed by the kernel when the process dies.
class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) {}
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

// Thread safety: any thread, and after a fork both processes.
class LocalFiles {
 public:
  explicit LocalFiles(std::filesystem::path root, double lock_deadline_s = 0);

  const RootFolder& root() const { return root_; }

  // 16 hexadecimal digits that no other process has.
  std::string token();

  // The time of the file system; of this machine for who may not write there.
  std::int64_t now_ns();

  // A new file with these bytes. Makes the directory if need be.
  std::unique_ptr<PartialFile> write(std::span<const std::byte> bytes);

  std::unique_ptr<FileLock> lock(const std::string& name);

  // Removes what killed processes left below partial/: files, and folders of files. Looks now and
  // then only.
  void sweep();

 private:
  std::uint64_t number();

  const RootFolder root_;
  const double lock_deadline_s_;
  const std::uint64_t key_;
  std::atomic<std::uint64_t> given_ = 0;
  std::atomic<std::int64_t> swept_s_;  // by the steady clock
};

// Removes a folder of files that lies in the open folder `parent`; a folder in it stays, and so it
// itself. Returns errno or 0. `shown` is for messages.
int remove_folder(int parent, const std::string& name, const std::filesystem::path& shown);

// A regular file below `root`, open to be read, and what fstat() says of it. Nothing when there is
// no such file, or a folder in its place. THROWS Error(kInput) for links, FIFOs and devices.
struct OpenFile {
  Descriptor file;
  struct stat status;
};
std::optional<OpenFile> open_regular(const RootFolder& root, const std::string& name);

// The bytes of a file and what fstat() says of them; nothing as open_regular. What is replaced
// meanwhile is read to its end. THROWS Error(kInput) for a file of more than `most_bytes`, before
// memory is asked for.
struct FileContent {
  Bytes bytes;
  struct stat status;
};
std::optional<FileContent> read_whole(const RootFolder& root, const std::string& name,
                                      std::size_t most_bytes);

std::unique_ptr<BlobStore> make_local_blobs(const std::string& name,
                                            const std::filesystem::path& directory, Meter& meter,
                                            double lock_deadline_s);
std::unique_ptr<Queue> make_local_queue(const std::string& name,
                                        const std::filesystem::path& directory, Meter& meter);

}  // namespace meanwhile::storage
