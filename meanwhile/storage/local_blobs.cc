#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "meanwhile/storage/local.h"
#include "meanwhile/storage/local_files.h"
#include "meanwhile/storage/name.h"

namespace meanwhile::storage {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

constexpr std::string_view kServersOwn = ".nfs";
constexpr const char* kBlobs = "blobs";

class LocalBlobs final : public BlobStore {
 public:
  LocalBlobs(std::string name, const fs::path& directory, Meter& meter, double lock_deadline_s)
      : name_(std::move(name)), files_(directory, lock_deadline_s), meter_(meter) {}

  std::string name() const override { return name_; }

  std::optional<Blob> get(const std::string& name) override {
    return get_at_most(name, most_bytes_);
  }

  std::optional<Blob> get_at_most(const std::string& name, std::size_t most_bytes) override {
    std::optional<FileContent> content =
        read_whole(files_.root(), path_of(name), std::min(most_bytes, most_bytes_));
    meter_.count(Request::kGet, 0, content ? std::ssize(content->bytes) : 0);
    if (!content) return std::nullopt;
    return Blob{std::move(content->bytes), etag_of(content->status)};
  }

  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    const std::string path = path_of(name);
    meter_.count(Request::kPut, std::ssize(bytes));
    const auto partial = files_.write(bytes);
    const auto lock = files_.lock(name);
    move(*partial, path);
    return partial->etag;
  }

  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    const std::string path = path_of(name);
    const bool is_there = current_etag(path).has_value();
    meter_.count(Request::kPut, is_there ? 0 : std::ssize(bytes));
    if (is_there) return false;
    const auto partial = files_.write(bytes);
    const int failure = files_.root().with_folder(
        folder_of(path), [&](int folder) { return partial->link_to(folder, last_word(path)); });
    if (failure == EEXIST && !files_.root().open_path(path).is_open()) return false;
    if (failure == EPERM || failure == EOPNOTSUPP || failure == ENOSYS) {
      throw Error(ErrorKind::kInput, "{}: the file system has no hard links, which a store needs",
                  shown(path).string());
    }
    if (failure != 0) throw file_error(shown(path), failure).in("writing");
    return true;
  }

  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    const std::string path = path_of(name);
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
    const std::string path = folder.empty() ? kBlobs : fmt::format("{}/{}", kBlobs, folder);
    Descriptor opened = files_.root().open_folder(path);
    if (!opened.is_open()) {
      if (errno == ENOENT || errno == ENOTDIR) return found;
      throw file_error(shown(path), errno).in("listing");
    }
    walk(std::move(opened), folder, slash == prefix.npos ? prefix : prefix.substr(slash + 1),
         found);
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
      const std::string path = path_of(name);
      const Descriptor folder = files_.root().open_path(folder_of(path));
      struct stat status;
      if (!folder.is_open() ||
          fstatat(folder.get(), last_word(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) continue;
        throw file_error(shown(path), errno).in("removing");
      }
      if (S_ISDIR(status.st_mode)) continue;
      const auto lock = files_.lock(name);
      if (unlinkat(folder.get(), last_word(path).c_str(), 0) != 0 && errno != ENOENT &&
          errno != ENOTDIR) {
        throw file_error(shown(path), errno).in("removing");
      }
      remove_empty_folders(folder_of(path));
    }
  }

 private:
  // Below the root of the store.
  std::string path_of(const std::string& name) const {
    std::string problem = problem_of_name(name);
    if (name.starts_with(kServersOwn) || name.find("/.nfs") != name.npos) {
      problem = "a word begins with .nfs";
    }
    if (!problem.empty()) throw Error(ErrorKind::kUsage, "blob '{}': {}", name, problem);
    return fmt::format("{}/{}", kBlobs, name);
  }

  static std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
  static std::string last_word(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  fs::path shown(const std::string& path) const { return files_.root().path() / path; }

  // By open() rather than stat(): on NFS it asks the server.
  std::optional<std::string> current_etag(const std::string& path) const {
    const std::optional<OpenFile> opened = open_regular(files_.root(), path);
    if (!opened) return std::nullopt;
    return etag_of(opened->status);
  }

  void move(PartialFile& partial, const std::string& path) const {
    const int failure = files_.root().with_folder(
        folder_of(path), [&](int folder) { return partial.move_to(folder, last_word(path)); });
    if (failure != 0) throw file_error(shown(path), failure).in("writing");
  }

  // From `folder` upwards, the first that is not empty and DIR/blobs stay.
  void remove_empty_folders(std::string folder) const {
    for (; folder != kBlobs; folder = folder_of(folder)) {
      const Descriptor parent = files_.root().open_path(folder_of(folder));
      if (!parent.is_open()) return;
      if (unlinkat(parent.get(), last_word(folder).c_str(), AT_REMOVEDIR) != 0) return;
    }
  }

  // All below `folder` whose path there begins with `begin`; age_s is when each was written. Links
  // are passed over. Names have at most 200 bytes, which bounds the depth.
  void walk(Descriptor opened, const std::string& folder, const std::string& begin,
            std::vector<BlobInfo>& found) {
    const fs::path path = files_.root().path() / kBlobs / folder;
    const int failure = for_each_entry(
        std::move(opened), path,
        [&](int parent, const std::string& word, const struct stat& status) {
          if (!word.starts_with(begin) || word.starts_with(kServersOwn)) return;
          const std::string name = folder.empty() ? word : fmt::format("{}/{}", folder, word);
          if (!problem_of_name(name).empty()) return;
          if (S_ISDIR(status.st_mode)) {
            Descriptor below(
                ::openat(parent, word.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (below.is_open()) return walk(std::move(below), name, "", found);
            if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return;
            throw file_error(path / word, errno).in("listing");
          }
          if (!S_ISREG(status.st_mode)) return;
          // Not of st_mtim, whose nanoseconds are no time. This is when the blob appeared.
          const double written_s = static_cast<double>(status.st_ctim.tv_sec) +
                                   1e-9 * static_cast<double>(status.st_ctim.tv_nsec);
          found.push_back({name, status.st_size, etag_of(status), written_s});
        });
    if (failure != 0 && failure != ENOENT) throw file_error(path, failure).in("listing");
  }

  const std::string name_;
  LocalFiles files_;
  Meter& meter_;
  const std::size_t most_bytes_ = most_blob_bytes();
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
