#include "meanwhile/storage/root_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <system_error>

namespace meanwhile::storage {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

constexpr int kMostEntries = 10'000'000;

// One word below `folder`. A link that stands where a folder must be is "not a directory" to the
// system: it is told apart here, for the message.
Descriptor open_word(int folder, const std::string& word, int flags, mode_t mode) {
  const int fd = ::openat(folder, word.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0 && errno == ENOTDIR) {
    struct stat status;
    const bool link =
        fstatat(folder, word.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
    errno = link ? ELOOP : ENOTDIR;
  }
  return Descriptor(fd);
}

// As mkdir -p of the shell; for the directory itself, which may lie behind links. Not by
// std::filesystem, which fails with "File exists" when the folder goes as it is made.
void make_with_parents(const fs::path& path) {
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return;
  if (errno == ENOENT && path.has_relative_path()) {
    make_with_parents(path.parent_path());
    if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST || errno == ENOENT) return;
  }
  throw file_error(path, errno).in("making");
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other && fd_ >= 0) ::close(fd_);
  fd_ = other.release();
  return *this;
}

int Descriptor::close() { return ::close(release()); }

Error file_error(const fs::path& path, int error_number) {
  if (error_number == ELOOP) {
    return Error(ErrorKind::kInput,
                 "{}: is a link or lies behind one; links in a store are not followed",
                 path.string());
  }
  const bool mendable = error_number == EACCES || error_number == EPERM || error_number == EROFS;
  return Error(mendable ? ErrorKind::kInput : ErrorKind::kSystem, "{}: {}", path.string(),
               std::generic_category().message(error_number));
}

Descriptor RootFolder::open(const std::string& name, int flags, mode_t mode) const {
  Descriptor folder(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return folder;
  for (std::size_t begin = 0, end; begin <= name.size(); begin = end + 1) {
    end = std::min(name.find('/', begin), name.size());
    const std::string word = name.substr(begin, end - begin);
    if (word.empty() || word == "..") {
      errno = EINVAL;
      return Descriptor();
    }
    if (end == name.size()) {
      // O_PATH takes no other flag; it never waits.
      const int waiting = (flags & O_PATH) != 0 ? 0 : O_NONBLOCK;
      return open_word(folder.get(), word, flags | waiting, mode);
    }
    folder = open_word(folder.get(), word, O_PATH | O_DIRECTORY, 0);
    if (!folder.is_open()) return folder;
  }
  return Descriptor();
}

Descriptor RootFolder::open_folder(const std::string& name) const {
  if (name.empty()) return Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return open(name, O_RDONLY | O_DIRECTORY);
}

Descriptor RootFolder::open_path(const std::string& name) const {
  if (name.empty()) return Descriptor(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return open(name, O_PATH | O_DIRECTORY);
}

void RootFolder::make_folder(const std::string& name) const {
  make_with_parents(path_);
  for (std::size_t end = 0; end != name.npos;) {
    end = name.find('/', end == 0 ? 0 : end + 1);
    const std::string made = name.substr(0, end);
    const std::size_t slash = made.rfind('/');
    const Descriptor folder = open_path(slash == made.npos ? "" : made.substr(0, slash));
    const std::string word = made.substr(slash == made.npos ? 0 : slash + 1);
    if (folder.is_open() && (mkdirat(folder.get(), word.c_str(), 0777) == 0 || errno == EEXIST)) {
      continue;
    }
    if (errno == ENOENT) return;  // removed meanwhile: the caller tries again
    throw file_error(path_ / made, errno).in("making");
  }
}

int RootFolder::with_folder(const std::string& folder, const std::function<int(int)>& call) const {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Descriptor opened = open_path(folder);
    if (opened.is_open() && call(opened.get()) == 0) return 0;
    if (errno != ENOENT) return errno;
    make_folder(folder);
  }
  return ENOENT;
}

int for_each_entry(Descriptor folder, const fs::path& shown,
                   const std::function<void(int, const std::string&, const struct stat&)>& each) {
  const int fd = folder.get();
  const std::unique_ptr<DIR, CloseFolder> entries(fdopendir(fd));
  if (entries == nullptr) return errno;
  (void)folder.release();  // closed with `entries`
  for (int count = 0;; ++count) {
    errno = 0;
    const dirent* entry = readdir(entries.get());
    if (entry == nullptr) return errno;
    if (count == kMostEntries) {
      throw Error(ErrorKind::kInput, "listing: {}: holds more than {} entries", shown.string(),
                  kMostEntries);
    }
    const std::string name = entry->d_name;
    struct stat status;
    if (name == "." || name == "..") continue;
    if (fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
    each(fd, name, status);
  }
}

}  // namespace meanwhile::storage
