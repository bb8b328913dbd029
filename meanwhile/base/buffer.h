// Arrays in pages of their own. A Buffer grows by remapping pages, never by copying or by touching
// what is not yet written, so its resident size is what was written: the reason peak memory of
// reading a file stays near the size of the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace meanwhile::base {

// Untyped pages. THROWS Error(kSystem) when the system has no memory left.
class Pages {
 public:
  Pages() = default;
  ~Pages();
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Keeps the first min(old, new) bytes; new bytes are zero. data() may move.
  void resize(std::size_t bytes);

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

template <class T>
requires std::is_trivially_copyable_v<T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) { resize(size); }
  Buffer(Buffer&& other) noexcept
      : pages_(std::move(other.pages_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    pages_ = std::move(other.pages_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return reinterpret_cast<T*>(pages_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(pages_.data()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

  // New elements are zero where the buffer never reached before; after it was made smaller they are
  // what was there. Elements may move: pointers into the buffer are no longer valid.
  void resize(std::size_t size) {
    constexpr std::size_t kMost = PTRDIFF_MAX / sizeof(T);
    const std::size_t want =
        size > kMost ? PTRDIFF_MAX : size * sizeof(T);  // which no system gives
    if (want > pages_.bytes()) {
      // Address space is cheap and untouched pages are free: half as much again each time.
      pages_.resize(pages_.bytes() == 0 ? want : want + want / 2);
    }
    size_ = size;
  }
  // Gives back the pages behind size().
  void shrink_to_fit() { pages_.resize(size_ * sizeof(T)); }

 private:
  Pages pages_;
  std::size_t size_ = 0;
};

// Gives the whole pages within `bytes` back to the system. Their content is lost: they are zero
// when they are touched again. Bytes on pages that `bytes` covers in part stay. REQUIRES: `bytes`
// lie in a Buffer, and nothing reads them any more.
void discard_pages(std::span<const std::byte> bytes);

}  // namespace meanwhile::base
