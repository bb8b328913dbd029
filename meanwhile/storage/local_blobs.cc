#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "meanwhile/storage/local.h"
#include "meanwhile/storage/local_files.h"
#include "meanwhile/storage/name.h"

namespace meanwhile::storage {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

constexpr std::string_view kServersOwn = ".nfs";

class LocalBlobs final : public BlobStore {
 public:
  LocalBlobs(std::string name, const fs::path& directory, Meter& meter, double lock_deadline_s)
      : name_(std::move(name)),
        files_(directory, lock_deadline_s),
        blobs_(directory / "blobs"),
        meter_(meter) {}

  std::string name() const override { return name_; }

  std::optional<Blob> get(const std::string& name) override {
    std::optional<FileContent> content = read_whole(path_of(name));
    meter_.count(Request::kGet, 0, content ? std::ssize(content->bytes) : 0);
    if (!content) return std::nullopt;
    return Blob{std::move(content->bytes), etag_of(content->status)};
  }

  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    const fs::path path = path_of(name);
    meter_.count(Request::kPut, std::ssize(bytes));
    const auto partial = files_.write(bytes);
    const auto lock = files_.lock(name);
    move(*partial, path);
    return partial->etag;
  }

  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    const fs::path path = path_of(name);
    const bool is_there = current_etag(path).has_value();
    meter_.count(Request::kPut, is_there ? 0 : std::ssize(bytes));
    if (is_there) return false;
    const auto partial = files_.write(bytes);
    const int failure = with_folder(path.parent_path(),
                                    [&] { return link(partial->path().c_str(), path.c_str()); });
    std::error_code ignored;
    if (failure == EEXIST && !fs::is_directory(path, ignored)) return false;
    if (failure == EPERM || failure == EOPNOTSUPP || failure == ENOSYS) {
      throw Error(ErrorKind::kInput, "{}: the file system has no hard links, which a store needs",
                  path.string());
    }
    if (failure != 0) throw file_error(path, failure).in("writing");
    return true;
  }

  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    const fs::path path = path_of(name);
    const bool differs = current_etag(path) != etag;
    meter_.count(Request::kPut, differs ? 0 : std::ssize(bytes));
    if (differs) return false;
    const auto partial = files_.write(bytes);
    const auto lock = files_.lock(name);
    if (current_etag(path) != etag) return false;
    move(*partial, path);
    return true;
  }

  std::vector<BlobInfo> list(const std::string& prefix) override {
    meter_.count(Request::kList);
    files_.sweep();
    std::vector<BlobInfo> found;
    const std::size_t slash = prefix.rfind('/');
    const std::string folder = slash == prefix.npos ? "" : prefix.substr(0, slash);
    if (slash != prefix.npos && !problem_of_name(folder).empty()) return found;
    walk(folder, slash == prefix.npos ? prefix : prefix.substr(slash + 1), found);
    std::sort(found.begin(), found.end(),
              [](const BlobInfo& a, const BlobInfo& b) { return a.name < b.name; });
    if (found.empty()) return found;
    const double now_s = static_cast<double>(files_.now_ns()) * 1e-9;
    for (BlobInfo& info : found) info.age_s = std::max(0.0, now_s - info.age_s);
    return found;
  }

  void remove(std::span<const std::string> names) override {
    meter_.count(Request::kRemove);
    for (const std::string& name : names) {
      const fs::path path = path_of(name);
      struct stat status;
      if (lstat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) continue;
        throw file_error(path, errno).in("removing");
      }
      if (S_ISDIR(status.st_mode)) continue;
      const auto lock = files_.lock(name);
      if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
        throw file_error(path, errno).in("removing");
      }
      for (fs::path up = path.parent_path(); up != blobs_; up = up.parent_path()) {
        if (rmdir(up.c_str()) != 0) break;
      }
    }
  }

 private:
  fs::path path_of(const std::string& name) const {
    std::string problem = problem_of_name(name);
    if (name.starts_with(kServersOwn) || name.find("/.nfs") != name.npos) {
      problem = "a word begins with .nfs";
    }
    if (!problem.empty()) throw Error(ErrorKind::kUsage, "blob '{}': {}", name, problem);
    return blobs_ / name;
  }

  // By open() rather than stat(): on NFS it asks the server.
  static std::optional<std::string> current_etag(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    if (fd < 0) throw file_error(path, errno).in("reading");
    struct stat status;
    const int failure = fstat(fd, &status) == 0 ? 0 : errno;
    close(fd);
    if (failure != 0) throw file_error(path, failure).in("reading");
    if (S_ISDIR(status.st_mode)) return std::nullopt;
    return etag_of(status);
  }

  static void move(PartialFile& partial, const fs::path& path) {
    const int failure = with_folder(path.parent_path(),
                                    [&] { return rename(partial.path().c_str(), path.c_str()); });
    if (failure != 0) throw file_error(path, failure).in("writing");
    partial.moved();
  }

  // All below `folder` whose path there begins with `begin`; age_s is when each was written.
  void walk(const std::string& folder, const std::string& begin, std::vector<BlobInfo>& found) {
    const fs::path path = blobs_ / folder;
    std::error_code error;
    fs::directory_iterator entry(path, error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
      const std::string word = entry->path().filename().string();
      if (!word.starts_with(begin) || word.starts_with(kServersOwn)) continue;
      const std::string name = folder.empty() ? word : fmt::format("{}/{}", folder, word);
      struct stat status;
      if (!problem_of_name(name).empty() || stat(entry->path().c_str(), &status) != 0) continue;
      if (S_ISDIR(status.st_mode)) walk(name, "", found);
      if (!S_ISREG(status.st_mode)) continue;
      // Not of st_mtim, whose nanoseconds are no time. This is when the blob appeared.
      const double written_s = static_cast<double>(status.st_ctim.tv_sec) +
                               1e-9 * static_cast<double>(status.st_ctim.tv_nsec);
      found.push_back({name, status.st_size, etag_of(status), written_s});
    }
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory) {
      throw file_error(path, error.value()).in("listing");
    }
  }

  const std::string name_;
  LocalFiles files_;
  const fs::path blobs_;
  Meter& meter_;
};

}  // namespace

std::unique_ptr<BlobStore> make_local_blobs(const std::string& name, const fs::path& directory,
                                            Meter& meter, double lock_deadline_s) {
  return std::make_unique<LocalBlobs>(name, directory, meter, lock_deadline_s);
}

Store open_local(const std::string& name, const fs::path& directory, Meter& meter,
                 double lock_deadline_s) {
  return {make_local_blobs(name, directory, meter, lock_deadline_s),
          make_local_queue(name, directory, meter)};
}

}  // namespace meanwhile::storage
