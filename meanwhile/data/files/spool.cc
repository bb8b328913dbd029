#include "meanwhile/data/files/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::data {

Spool::Spool(const std::filesystem::path& folder) {
  const std::filesystem::path where = folder.empty() ? "." : folder;
  fd_ = open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return;
  // Some file systems have no files without names: create one with a name and unlink it at once.
  std::string name = (where / ".spool-XXXXXX").string();
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) throw base::system_error("a temporary file in " + where.string(), errno);
  unlink(name.c_str());
}

Spool::~Spool() {
  if (fd_ >= 0) close(fd_);
}

void Spool::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) throw base::system_error("writing a temporary file", errno);
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void Spool::read_at(std::size_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw base::system_error("reading a temporary file", got < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::size_t>(got);
  }
}

void Spool::for_each(const std::function<void(std::span<const std::byte>)>& take) const {
  std::vector<std::byte> piece(1 << 20);
  off_t offset = 0;
  for (;;) {
    const ssize_t got = pread(fd_, piece.data(), piece.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw base::system_error("reading a temporary file", errno);
    if (got == 0) return;
    take(std::span(piece).first(static_cast<std::size_t>(got)));
    offset += got;
  }
}

}  // namespace meanwhile::data
