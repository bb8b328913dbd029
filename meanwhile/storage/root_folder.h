// A directory whose files are reached without following a link.
//
// Any process that may write to a store may put links there. A link that is followed leads reads,
// writes and removals out of the store, and a link to a folder above makes a walk without end. So
// every path is opened word by word from the directory on, none of the words may be a link, and
// calls that rename, link or remove get the descriptor of the folder and the last word. The
// directory itself was named by the user and may be reached by links.
//
// Opening never waits: a FIFO in place of a file is opened at once, and refused by callers that
// ask for a regular file.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::storage {

// A file descriptor, closed when this goes; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  // Returns what ::close() returns, for callers to whom it matters.
  int close();

 private:
  int fd_;
};

// kInput for what the user can mend (permissions, links, what is no regular file), else kSystem.
base::Error file_error(const std::filesystem::path& path, int error_number);

// Thread safety: any thread; holds no descriptor between calls.
class RootFolder {
 public:
  explicit RootFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }

  // A file below the directory. `name` is words parted by '/', none of them ".."; `flags` and
  // `mode` are those of open(). Without a descriptor errno says why: ELOOP for a link.
  Descriptor open(const std::string& name, int flags, mode_t mode = 0) const;
  // The folder, to be listed; the directory itself for "".
  Descriptor open_folder(const std::string& name) const;
  // The folder as a place for calls that end in "at": needs no right to list it.
  Descriptor open_path(const std::string& name) const;

  // mkdir -p; no error when it is there, or when a parent goes meanwhile.
  void make_folder(const std::string& name) const;

  // Runs `call` with the descriptor of `folder`; it returns 0 or sets errno. Makes the folder when
  // it is missing: again and again, as the removal of the last file of a folder takes the folder
  // along. Returns errno or 0.
  int with_folder(const std::string& folder, const std::function<int(int)>& call) const;

 private:
  std::filesystem::path path_;
};

// Calls `each` with the name and the status of every entry of an open folder: of links themselves,
// not of what they lead to. Returns errno or 0. THROWS Error(kInput) beyond 10 million entries.
int for_each_entry(Descriptor folder, const std::filesystem::path& shown,
                   const std::function<void(int folder, const std::string& name,
                                            const struct stat& status)>& each);

}  // namespace meanwhile::storage
