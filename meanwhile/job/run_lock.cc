#include "meanwhile/job/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "meanwhile/base/error.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

std::string this_process() {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} on {}", getpid(), host.data());
}

// The text that the process with the lock wrote into the file.
std::string holder(int file) {
  std::array<char, 400> text = {};
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  const std::string_view said(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return said.empty() ? "another process" : std::string(said);
}

void lock_file(int file, const fs::path& run) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Error(ErrorKind::kUsage, "{}: is being written by {}", run.string(), holder(file));
}

}  // namespace

std::shared_ptr<const RunLock> RunLock::take(const fs::path& run) {
  const int folder = open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno == ENOENT) return nullptr;
  if (folder < 0) throw base::system_error(run.string(), errno);
  const int file = openat(folder, kName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) {
    const int failure = errno;
    close(folder);
    throw base::system_error(fmt::format("writing {}", (run / kName).string()), failure);
  }
  try {
    lock_file(file, run);
    // The process that had the lock may have removed the file or moved the directory meanwhile.
    struct stat mine = {}, there = {};
    const bool same = fstat(file, &mine) == 0 && stat((run / kName).c_str(), &there) == 0 &&
                      mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
    if (!same) {
      close(file);
      close(folder);
      return nullptr;
    }
    const std::string text = this_process();
    if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) != std::ssize(text)) {
      throw base::system_error(fmt::format("writing {}", (run / kName).string()), errno);
    }
  } catch (...) {
    close(file);
    close(folder);
    throw;
  }
  return std::shared_ptr<const RunLock>(new RunLock(folder, file));
}

RunLock::~RunLock() {
  unlinkat(folder_, kName, 0);
  close(file_);
  close(folder_);
}

}  // namespace meanwhile::job
