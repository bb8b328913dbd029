#include "meanwhile/data/text/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kCompressedBytes = 256 << 10;

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(const std::filesystem::path& path) : name_(display_name(path)) {
    if (path == "-") {
      fd_ = STDIN_FILENO;
      return;
    }
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd_ < 0 || fstat(fd_, &status) != 0) {
      throw Error(ErrorKind::kInput, "{}: {}", name_, std::generic_category().message(errno));
    }
    if (S_ISDIR(status.st_mode)) {
      close(fd_);
      throw Error(ErrorKind::kInput, "{}: is a directory, expected a file", name_);
    }
  }
  ~PlainStream() override {
    if (fd_ > STDIN_FILENO) close(fd_);
  }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  std::size_t read(std::span<char> out) override {
    if (!ahead_.empty()) {
      const std::size_t size = std::min(out.size(), ahead_.size());
      std::memcpy(out.data(), ahead_.data(), size);
      ahead_.erase(0, size);
      return size;
    }
    for (;;) {
      const ssize_t got = ::read(fd_, out.data(), out.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw base::system_error("reading " + name_, errno);
    }
  }

  // The next `bytes` bytes, fewer at the end, without consuming them. REQUIRES: nothing was read.
  std::string_view peek(std::size_t bytes) {
    std::string start(bytes, '\0');
    std::size_t size = 0;
    for (std::size_t got = 1; got > 0 && size < bytes; size += got) {
      got = read({start.data() + size, bytes - size});
    }
    start.resize(size);
    ahead_ = std::move(start);
    return ahead_;
  }

  void seek(std::int64_t offset) {
    if (lseek(fd_, offset, SEEK_SET) < 0) throw base::system_error("reading " + name_, errno);
  }

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int fd_ = -1;
  std::string ahead_;  // read by peek(), not yet by read()
};

class RangeStream : public ByteStream {
 public:
  RangeStream(const std::filesystem::path& path, std::int64_t begin, std::int64_t end)
      : file_(path), left_(end - begin), end_(end) {
    file_.seek(begin);
  }

  std::size_t read(std::span<char> out) override {
    if (left_ == 0) return 0;
    const auto most = std::min<std::uint64_t>(out.size(), static_cast<std::uint64_t>(left_));
    const std::size_t got = file_.read(out.first(static_cast<std::size_t>(most)));
    if (got == 0) {
      throw Error(ErrorKind::kInput, "{}: ends at byte {}, expected {}: it was cut short",
                  file_.name(), end_ - left_, end_);
    }
    left_ -= static_cast<std::int64_t>(got);
    return got;
  }

 private:
  PlainStream file_;
  std::int64_t left_;
  const std::int64_t end_;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::shared_ptr<const base::Buffer<std::byte>> bytes)
      : bytes_(std::move(bytes)), left_(bytes_->span()) {}

  std::size_t read(std::span<char> out) override {
    const std::size_t size = std::min(out.size(), left_.size());
    if (size > 0) std::memcpy(out.data(), left_.data(), size);
    left_ = left_.subspan(size);
    return size;
  }

 private:
  const std::shared_ptr<const base::Buffer<std::byte>> bytes_;
  std::span<const std::byte> left_;
};

// Compressed bytes and their offsets in the file, for both decompressors.
class Compressed {
 public:
  explicit Compressed(std::unique_ptr<PlainStream> file)
      : file_(std::move(file)), buffer_(kCompressedBytes) {}

  // The next piece of the file; empty at its end. REQUIRES: the last piece is used up.
  std::span<char> next() {
    before_ += piece_;
    piece_ = file_->read(buffer_);
    return {buffer_.data(), piece_};
  }
  // The offset in the file of the byte from which on `left` bytes of the piece are left.
  std::size_t offset(std::size_t left) const { return before_ + piece_ - left; }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(ErrorKind::kInput, format, std::forward<Args>(args)...).in(file_->name());
  }

 private:
  std::unique_ptr<PlainStream> file_;
  std::vector<char> buffer_;
  std::size_t before_ = 0, piece_ = 0;
};

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<PlainStream> file) : file_(std::move(file)) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&zlib_, MAX_WBITS + kGzipOnly) != Z_OK) {
      throw Error(ErrorKind::kSystem, "no memory to decompress");
    }
  }
  ~GzipStream() override { inflateEnd(&zlib_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<char> out) override {
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size(), 1 << 30));
    zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib_.avail_out = room;
    while (zlib_.avail_out == room) {
      if (zlib_.avail_in == 0 && !refill()) {
        if (in_member_) {
          file_.fail("gzip data ends at byte {} before it is complete: the file was cut short",
                     file_.offset(0));
        }
        return 0;
      }
      if (!in_member_ && !begin_member()) continue;
      const int status = inflate(&zlib_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        in_member_ = false;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        file_.fail("gzip data is corrupt near byte {}: {}", file_.offset(zlib_.avail_in),
                   zlib_.msg != nullptr ? zlib_.msg : "bad stream");
      }
    }
    return room - zlib_.avail_out;
  }

 private:
  bool refill() {
    const std::span<char> piece = file_.next();
    zlib_.next_in = reinterpret_cast<Bytef*>(piece.data());
    zlib_.avail_in = static_cast<uInt>(piece.size());
    return !piece.empty();
  }

  // Called between members: another member follows, or zeros that fill up a tape.
  bool begin_member() {
    if (members_ > 0 && *zlib_.next_in == 0) {
      ++zlib_.next_in;
      --zlib_.avail_in;
      return false;
    }
    if (*zlib_.next_in != 0x1f) {
      file_.fail("found byte 0x{:02x} at byte {}, expected gzip data", *zlib_.next_in,
                 file_.offset(zlib_.avail_in));
    }
    inflateReset(&zlib_);
    in_member_ = true;
    ++members_;
    return true;
  }

  Compressed file_;
  z_stream zlib_{};
  bool in_member_ = false;
  std::size_t members_ = 0;
};

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<PlainStream> file)
      : file_(std::move(file)), zstd_(ZSTD_createDStream()) {
    if (zstd_ == nullptr) throw Error(ErrorKind::kSystem, "no memory to decompress");
  }
  ~ZstdStream() override { ZSTD_freeDStream(zstd_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      // The decoder may hold bytes back if `out` is full, so it is asked before the file is read.
      if (input_.pos == input_.size && !holds_back_) {
        const std::span<char> piece = file_.next();
        if (piece.empty()) {
          if (expected_ != 0) {
            file_.fail("zstd data ends at byte {} before it is complete: the file was cut short",
                       file_.offset(0));
          }
          return 0;
        }
        input_ = {piece.data(), piece.size(), 0};
      }
      expected_ = ZSTD_decompressStream(zstd_, &output, &input_);
      if (ZSTD_isError(expected_)) {
        file_.fail("zstd data is corrupt near byte {}: {}", file_.offset(input_.size - input_.pos),
                   ZSTD_getErrorName(expected_));
      }
      holds_back_ = expected_ != 0 && output.pos == output.size;
    }
    return output.pos;
  }

 private:
  Compressed file_;
  ZSTD_DStream* zstd_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  std::size_t expected_ = 0;  // 0 between frames
  bool holds_back_ = false;
};

}  // namespace

std::string display_name(const std::filesystem::path& path) {
  return path == "-" ? "standard input" : path.string();
}

bool is_compressed(const std::filesystem::path& path) {
  return path.extension() == ".gz" || path.extension() == ".zst";
}

std::filesystem::path uncompressed_name(const std::filesystem::path& path) {
  return is_compressed(path) ? path.parent_path() / path.stem() : path;
}

std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& path) {
  auto file = std::make_unique<PlainStream>(path);
  bool gzip = path.extension() == ".gz", zstd = path.extension() == ".zst";
  if (path == "-") {
    const std::string_view start = file->peek(4);
    gzip = start.starts_with("\x1f\x8b\x08");
    zstd = start == "\x28\xb5\x2f\xfd";
  }
  if (gzip) return std::make_unique<GzipStream>(std::move(file));
  if (zstd) return std::make_unique<ZstdStream>(std::move(file));
  return file;
}

std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& path, std::int64_t begin,
                                       std::int64_t end) {
  return std::make_unique<RangeStream>(path, begin, end);
}

std::unique_ptr<ByteStream> open_bytes(std::shared_ptr<const base::Buffer<std::byte>> bytes) {
  return std::make_unique<MemoryStream>(std::move(bytes));
}

}  // namespace meanwhile::data
