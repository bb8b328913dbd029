#include "meanwhile/storage/local_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

namespace meanwhile::storage {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kPartialAge_ns = 3600 * kNanoseconds;
constexpr std::int64_t kSweepEvery_s = 600;
constexpr const char* kPartial = "partial";
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::int64_t nanoseconds(const struct timespec& time) {
  return std::int64_t{time.tv_sec} * kNanoseconds + time.tv_nsec;
}

std::int64_t steady_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint64_t random_key() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// The mixing function of splitmix64: a bijection.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// FNV-1a: the same in every program that uses the directory, unlike std::hash.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mixed(hash);
}

// The host that left a file, for the process that finds it.
std::string host() {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  std::string text = name.data();
  std::replace(text.begin(), text.end(), '/', '_');
  return text.substr(0, 64);
}

void write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw file_error(path, errno).in("writing");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// False when the file ended before it was whole.
bool read_all(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      errno = EIO;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

std::string etag_of(const struct stat& status) {
  return fmt::format("{:x}-{:x}-{:x}-{:x}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_ino, status.st_size);
}

PartialFile::~PartialFile() {
  if (!name_.empty()) unlinkat(folder_.get(), name_.c_str(), 0);
}

int PartialFile::move_to(int folder, const std::string& name) {
  if (renameat(folder_.get(), name_.c_str(), folder, name.c_str()) != 0) return -1;
  name_.clear();
  return 0;
}

int PartialFile::link_to(int folder, const std::string& name) const {
  return linkat(folder_.get(), name_.c_str(), folder, name.c_str(), 0);
}

FileLock::~FileLock() {
  flock(fd_, LOCK_UN);  // closing alone would leave it to a process that was forked meanwhile
  close(fd_);
}

LocalFiles::LocalFiles(fs::path root, double lock_deadline_s)
    : root_(std::move(root)),
      lock_deadline_s_(lock_deadline_s),
      key_(random_key()),
      swept_s_(steady_seconds() - kSweepEvery_s) {}

// Processes that were forked from one share the key, but not the id.
std::uint64_t LocalFiles::number() {
  return mixed(key_ ^ mixed(static_cast<std::uint64_t>(getpid()))) +
         given_.fetch_add(1, std::memory_order_relaxed);
}

std::string LocalFiles::token() { return fmt::format("{:016x}", number()); }

std::int64_t LocalFiles::now_ns() {
  const Descriptor file = root_.open("clock", O_WRONLY | O_CREAT, 0666);
  const struct timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  struct stat status;
  if (file.is_open() && futimens(file.get(), now) == 0 && fstat(file.get(), &status) == 0 &&
      S_ISREG(status.st_mode)) {
    return nanoseconds(status.st_mtim);
  }
  struct timespec here;
  clock_gettime(CLOCK_REALTIME, &here);
  return nanoseconds(here);
}

std::unique_ptr<PartialFile> LocalFiles::write(std::span<const std::byte> bytes) {
  const std::uint64_t mine = number();
  const std::string name = fmt::format("{}.{}.{:016x}", host(), getpid(), mine);
  const fs::path path = root_.path() / kPartial / name;
  int fd = -1;
  Descriptor folder;
  const int failure = root_.with_folder(kPartial, [&](int opened) {
    folder = Descriptor(fcntl(opened, F_DUPFD_CLOEXEC, 0));
    if (!folder.is_open()) return -1;
    fd = ::openat(opened, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd < 0 ? -1 : 0;
  });
  if (failure != 0) throw file_error(path, failure).in("writing");
  Descriptor file(fd);
  auto partial = std::make_unique<PartialFile>(std::move(folder), name);
  write_all(fd, bytes, path);
  struct stat status;
  if (fstat(fd, &status) != 0) throw file_error(path, errno).in("writing");
  partial->written_ns = nanoseconds(status.st_mtim);
  const struct timespec marked[2] = {
      {0, UTIME_OMIT},
      {status.st_mtim.tv_sec, static_cast<long>(mine % std::uint64_t{kNanoseconds})}};
  // Read back: what counts is what the file system keeps of it.
  if (futimens(fd, marked) != 0 || fstat(fd, &status) != 0 || file.close() != 0) {
    throw file_error(path, errno).in("writing");
  }
  partial->etag = etag_of(status);
  return partial;
}

std::unique_ptr<FileLock> LocalFiles::lock(const std::string& name) {
  using Clock = std::chrono::steady_clock;
  const std::string word = fmt::format("{:02x}", hash_of(name) & 0xff);
  const fs::path path = root_.path() / "locks" / word;
  int fd = -1;
  const int failure = root_.with_folder("locks", [&](int folder) {
    fd = ::openat(folder, word.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  0666);
    return fd < 0 ? -1 : 0;
  });
  if (failure != 0) throw file_error(path, failure).in("locking");
  Descriptor file(fd);
  const auto begin = Clock::now();
  // Asking again beats waiting in the kernel: that has no deadline, and is slow on NFS.
  for (auto pause = std::chrono::microseconds(50); flock(fd, LOCK_EX | LOCK_NB) != 0;
       pause = std::min(pause * 2, std::chrono::microseconds(10'000))) {
    if (errno == EINTR) continue;
    if (errno == ENOLCK || errno == EOPNOTSUPP) {
      throw Error(ErrorKind::kInput, "{}: the file system has no locks, which a store needs",
                  path.string());
    }
    if (errno != EWOULDBLOCK) throw file_error(path, errno).in("locking");
    if (Clock::now() - begin > std::chrono::duration<double>(lock_deadline_s_)) {
      throw Error(ErrorKind::kSystem, "{}: locked by another process for {} s", path.string(),
                  lock_deadline_s_);
    }
    std::this_thread::sleep_for(pause);
  }
  return std::make_unique<FileLock>(file.release());
}

void LocalFiles::sweep() {
  std::int64_t before = swept_s_;
  if (steady_seconds() - before < kSweepEvery_s) return;
  if (!swept_s_.compare_exchange_strong(before, steady_seconds())) return;
  Descriptor partial = root_.open_folder(kPartial);
  if (!partial.is_open()) return;
  std::optional<std::int64_t> now;
  for_each_entry(std::move(partial), root_.path() / kPartial,
                 [&](int folder, const std::string& name, const struct stat& status) {
                   if (!now) now = now_ns();
                   if (*now - nanoseconds(status.st_mtim) <= kPartialAge_ns) return;
                   if (S_ISDIR(status.st_mode)) {
                     remove_folder(folder, name, root_.path() / kPartial / name);
                   } else {
                     unlinkat(folder, name.c_str(), 0);
                   }
                 });
}

int remove_folder(int parent, const std::string& name, const fs::path& shown) {
  Descriptor folder(::openat(parent, name.c_str(), kFolderFlags));
  if (!folder.is_open()) return errno == ENOENT ? 0 : errno;
  const int failure = for_each_entry(
      std::move(folder), shown, [](int opened, const std::string& file, const struct stat& status) {
        if (!S_ISDIR(status.st_mode)) unlinkat(opened, file.c_str(), 0);
      });
  if (failure != 0) return failure;
  return unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

std::optional<OpenFile> open_regular(const RootFolder& root, const std::string& name) {
  constexpr int kAttempts = 5;  // a server may have forgotten a file that was replaced (ESTALE)
  for (int attempt = 1;; ++attempt) {
    OpenFile opened{root.open(name, O_RDONLY), {}};
    if (opened.file.is_open() && fstat(opened.file.get(), &opened.status) == 0) {
      if (S_ISDIR(opened.status.st_mode)) return std::nullopt;
      if (S_ISREG(opened.status.st_mode)) return opened;
      throw Error(ErrorKind::kInput, "reading: {}: is not a regular file",
                  (root.path() / name).string());
    }
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    // A socket, or a FIFO without a writer.
    if (errno == ENXIO) {
      throw Error(ErrorKind::kInput, "reading: {}: is not a regular file",
                  (root.path() / name).string());
    }
    if (errno != ESTALE || attempt == kAttempts) {
      throw file_error(root.path() / name, errno).in("reading");
    }
  }
}

std::optional<FileContent> read_whole(const RootFolder& root, const std::string& name,
                                      std::size_t most_bytes) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    const std::optional<OpenFile> opened = open_regular(root, name);
    if (!opened) return std::nullopt;
    FileContent content{{}, opened->status};
    const auto size = static_cast<std::size_t>(opened->status.st_size);
    if (size > most_bytes) {
      throw too_large((root.path() / name).string(), size, most_bytes);
    }
    content.bytes.resize(size);
    if (read_all(opened->file.get(), content.bytes)) return content;
    if (errno != ESTALE || attempt == kAttempts) {
      throw file_error(root.path() / name, errno).in("reading");
    }
  }
}

}  // namespace meanwhile::storage
