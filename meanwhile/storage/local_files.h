// What local blobs and the local queue do to files alike. local.h has the whole picture.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/storage/blob_store.h"
#include "meanwhile/storage/queue.h"
#include "meanwhile/storage/usage.h"

namespace meanwhile::storage {

// kInput for what the user can mend (permissions), else kSystem.
base::Error file_error(const std::filesystem::path& path, int error_number);

// Differs whenever a file was written by LocalFiles::write().
std::string etag_of(const struct stat& status);

// A file below partial/, whole. Removed when this goes, unless it was moved away.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void moved() { path_.clear(); }

  std::string etag;
  std::int64_t written_ns = 0;  // by the clock of the file system

 private:
  std::filesystem::path path_;
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

  const std::filesystem::path& root() const { return root_; }

  // 16 hexadecimal digits that nobody else has.
  std::string token();

  // The time of the file system; of this machine for who may not write there.
  std::int64_t now_ns();

  // A new file with these bytes. Makes the directory if need be.
  std::unique_ptr<PartialFile> write(std::span<const std::byte> bytes);

  std::unique_ptr<FileLock> lock(const std::string& name);

  // Removes what killed processes left below partial/; looks now and then only.
  void sweep();

 private:
  std::uint64_t number();

  const std::filesystem::path root_;
  const double lock_deadline_s_;
  const std::uint64_t key_;
  std::atomic<std::uint64_t> given_ = 0;
  std::atomic<std::int64_t> swept_s_;  // by the steady clock
};

// The bytes of a file and what fstat() says of them; nothing when there is no such file. What is
// replaced meanwhile is read to its end.
struct FileContent {
  Bytes bytes;
  struct stat status;
};
std::optional<FileContent> read_whole(const std::filesystem::path& path);

// Runs `call`, which returns 0 or sets errno, and makes `folder` when it is missing: again and
// again, as whoever removes the last file of a folder takes the folder along. Returns errno or 0.
template <class Call>
int with_folder(const std::filesystem::path& folder, Call&& call);

// mkdir -p; no error when it is there, or when a parent goes meanwhile.
void make_folder(const std::filesystem::path& folder);

std::unique_ptr<BlobStore> make_local_blobs(const std::string& name,
                                            const std::filesystem::path& directory, Meter& meter,
                                            double lock_deadline_s);
std::unique_ptr<Queue> make_local_queue(const std::string& name,
                                        const std::filesystem::path& directory, Meter& meter);

template <class Call>
int with_folder(const std::filesystem::path& folder, Call&& call) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (call() == 0) return 0;
    if (errno != ENOENT) return errno;
    make_folder(folder);
  }
  return ENOENT;
}

}  // namespace meanwhile::storage
