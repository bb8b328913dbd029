#include "meanwhile/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "meanwhile/base/error.h"

namespace meanwhile::base {

namespace {

Error input_error(const std::filesystem::path& path, int error_number) {
  return Error(ErrorKind::kInput, "{}: {}", path.string(),
               std::generic_category().message(error_number));
}

// Outwards to whole pages: neighbours are read again if needed, but no page is left between them.
void advise(std::span<const std::byte> bytes, int advice) {
  if (bytes.empty()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t begin = address / page * page;
  const std::uintptr_t end = (address + bytes.size() + page - 1) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw input_error(path, errno);
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    throw Error(ErrorKind::kInput, "{}: is not a regular file", path.string());
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    const int failure = errno;
    close(fd);
    if (mapped == MAP_FAILED) throw input_error(path, failure);
    data_ = static_cast<const std::byte*>(mapped);
  } else {
    close(fd);
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void release_mapped(std::span<const std::byte> bytes) { advise(bytes, MADV_DONTNEED); }
void populate_mapped(std::span<const std::byte> bytes) { advise(bytes, MADV_POPULATE_READ); }

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  partial_ = path_;
  partial_ += ".partial";
  fd_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw system_error(partial_.string(), errno);
}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(partial_.c_str());
}

void FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw system_error(fmt::format("writing {}", path_.string()), errno);
    }
    size_ += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FileWriter::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void FileWriter::write_at(std::size_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw system_error(fmt::format("writing {}", path_.string()), errno);
    }
    offset += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FileWriter::commit() {
  if (fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {  // EINVAL: a pipe cannot be synced
    throw system_error(fmt::format("writing {}", path_.string()), errno);
  }
  if (close(std::exchange(fd_, -1)) != 0) {
    const int failure = errno;
    unlink(partial_.c_str());
    throw system_error(fmt::format("writing {}", path_.string()), failure);
  }
  if (rename(partial_.c_str(), path_.c_str()) != 0) {
    const int failure = errno;
    unlink(partial_.c_str());
    throw system_error(fmt::format("renaming {} to {}", partial_.string(), path_.string()),
                       failure);
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  FileWriter writer(path);
  writer.write(text);
  writer.commit();
}

void append_line(const std::filesystem::path& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw system_error(fmt::format("writing {}", path.string()), errno);
  const std::string line = fmt::format("{}\n", text);
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int failure = written < 0 ? errno : ENOSPC;
  close(fd);
  if (written != static_cast<ssize_t>(line.size())) {
    throw system_error(fmt::format("writing {}", path.string()), failure);
  }
}

std::string read_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace meanwhile::base
