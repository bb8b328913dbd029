#include "meanwhile/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/mapped_files.h"

namespace meanwhile::base {

namespace {

Error input_error(const std::filesystem::path& path, int error_number) {
  return Error(ErrorKind::kInput, "{}: {}", path.string(),
               std::generic_category().message(error_number));
}

// A write that was cut short is continued: the next one says why the rest cannot be written.
void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw system_error(fmt::format("writing {}", path.string()), errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
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
    slot_ = register_mapping(bytes(), path.c_str());
  } else {
    close(fd);
  }
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapping(slot_);
  munmap(const_cast<std::byte*>(data_), size_);
}

void release_mapped(std::span<const std::byte> bytes) { advise(bytes, MADV_DONTNEED); }

void release_mapped_around(std::span<const std::byte> bytes, std::span<const std::byte> array) {
  constexpr std::uintptr_t kAround = std::uintptr_t{2} << 20;
  if (bytes.empty()) return;
  const auto address = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t first =
      std::max(address(array.data()), address(bytes.data()) / kAround * kAround);
  const std::uintptr_t last =
      std::min(address(array.data() + array.size()),
               (address(bytes.data() + bytes.size()) + kAround - 1) / kAround * kAround);
  release_mapped({reinterpret_cast<const std::byte*>(first), last - first});
}

void populate_mapped(std::span<const std::byte> bytes) { advise(bytes, MADV_POPULATE_READ); }

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  std::random_device random;
  do {
    // Processes of several hosts may share the directory: the number of a process is not enough.
    partial_ = path_;
    partial_ += fmt::format(".{:x}{:08x}{}", getpid(), random(), kPartialEnding);
    fd_ = open(partial_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) throw system_error(fmt::format("writing {}", path_.string()), errno);
}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(partial_.c_str());
}

void FileWriter::write(std::span<const std::byte> bytes) {
  write_all(fd_, bytes, path_);
  size_ += bytes.size();
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

void FileWriter::read_at(std::size_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw system_error(fmt::format("reading {}", partial_.string()), got < 0 ? errno : EIO);
    }
    offset += static_cast<std::size_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void FileWriter::commit(Sync sync) {
  if (sync != Sync::kNone && fsync(fd_) != 0 && errno != EINVAL &&
      errno != EROFS) {  // EINVAL: a pipe cannot be synced
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
  if (sync == Sync::kAll) sync_directory(path_.parent_path());
}

void write_file(const std::filesystem::path& path, std::string_view text, Sync sync) {
  FileWriter writer(path);
  writer.write(text);
  writer.commit(sync);
}

void sync_directory(const std::filesystem::path& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a directory may be written to and not read
  const int failure = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  if (failure == EIO || failure == ENOSPC) {
    throw system_error(fmt::format("writing {}", folder.string()), failure);
  }
}

void remove_partials(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == kPartialEnding && at->is_regular_file(error)) {
      found.push_back(at->path());
    }
  }
  for (const fs::path& partial : found) fs::remove(partial, error);
}

void append_line(const std::filesystem::path& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw system_error(fmt::format("writing {}", path.string()), errno);
  const std::string line = fmt::format("{}\n", text);
  try {
    write_all(fd, std::as_bytes(std::span(line)), path);
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
}

std::string read_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace meanwhile::base
