#include "meanwhile/data/text/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "meanwhile/data/text/text_error.h"

namespace meanwhile::data {

TextSource::TextSource(std::string name, std::unique_ptr<ByteStream> stream)
    : name_(std::move(name)), stream_(std::move(stream)) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  fill(kByteOrderMark.size());
  if (pending().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
}

TextSource::TextSource(const std::filesystem::path& path)
    : TextSource(display_name(path), open_bytes(path)) {}

TextSource::TextSource(const std::filesystem::path& path,
                       std::shared_ptr<const base::Buffer<std::byte>> bytes)
    : TextSource(display_name(path), open_bytes(std::move(bytes))) {}

TextSource::TextSource(const std::filesystem::path& path, TextRange range)
    : name_(display_name(path)), stream_(open_bytes(path, range.begin, range.end)) {}

void TextSource::fill(std::size_t bytes) {
  if (begin_ + bytes + 1 + kTextPadding > buffer_.size()) {
    buffer_.resize(begin_ + bytes + 1 + kTextPadding);  // 1: for a missing last '\n'
  }
  while (end_ - begin_ < bytes && !ended_ && failure_ == nullptr) {
    try {
      const std::size_t got = stream_->read({buffer_.data() + end_, begin_ + bytes - end_});
      end_ += got;
      ended_ = got == 0;
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
}

std::string_view TextSource::head(std::size_t bytes) {
  fill(bytes);
  if (failure_ != nullptr && end_ - begin_ < bytes) std::rethrow_exception(failure_);
  return pending();
}

void TextSource::skip(std::size_t bytes) {
  const std::string_view gone = pending().substr(0, bytes);
  lines_skipped_ += std::count(gone.begin(), gone.end(), '\n');
  begin_ += gone.size();
}

// The whole buffer goes to the chunk; only the text behind the cut is copied to the next buffer.
bool TextSource::hand_out(std::size_t size, TextChunk& chunk) {
  const std::size_t cut = begin_ + size, tail = end_ - cut;
  std::swap(buffer_, chunk.buffer_);
  chunk.begin_ = begin_;
  chunk.size_ = size;
  if (buffer_.size() < tail + 1 + kTextPadding) buffer_.resize(tail + 1 + kTextPadding);
  std::memcpy(buffer_.data(), chunk.buffer_.data() + cut, tail);
  begin_ = 0;
  end_ = tail;
  if (chunk.text().back() != '\n') {
    chunk.buffer_[cut] = '\n';
    ++chunk.size_;
  }
  return true;
}

void TextSource::check_length(const ChunkLimits& limits) const {
  if (end_ - begin_ <= limits.longest_record) return;
  throw BadText{0, fmt::format("found a record of more than {} bytes, expected a shorter one; is "
                               "this a text file, and is every quote closed?",
                               limits.longest_record)};
}

base::Buffer<std::byte> TextSource::rest(base::Stop stop) {
  begin_ = 0;  // a binary file has no byte order mark
  base::Buffer<std::byte> all(end_);
  if (end_ > 0) std::memcpy(all.data(), buffer_.data(), end_);
  begin_ = end_;
  // Reads straight into the result: a second copy would double the memory needed.
  for (std::size_t size = all.size(); !ended_; all.resize(size)) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    stop.check();
    constexpr std::size_t kPiece = 1 << 20;
    all.resize(size + kPiece);
    const std::size_t got = stream_->read({reinterpret_cast<char*>(all.data()) + size, kPiece});
    size += got;
    ended_ = got == 0;
  }
  all.shrink_to_fit();
  return all;
}

std::size_t cut_at_line(std::string_view text) { return text.rfind('\n') + 1; }

}  // namespace meanwhile::data
