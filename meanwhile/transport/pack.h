// Values to the bytes of a message and back, on machines that agree about both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::transport {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_raw(std::span(&value, 1)); }
  // Their number, then they.
  template <class T>
  void put_list(std::span<const T> values) {
    put(std::uint64_t{values.size()});
    put_raw(values);
  }
  void put_text(std::string_view text) { put_list(std::span<const char>(text)); }
  // Nothing but their bytes.
  template <class T>
  void put_raw(std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::size_t size() const { return bytes_.size(); }
  Bytes take() { return std::move(bytes_); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// Borrows the bytes. THROWS Error(kFailed) when there are fewer than are asked for.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  template <class T>
  T get() {
    T value;
    get_raw(std::span(&value, 1));
    return value;
  }
  template <class T>
  std::vector<T> get_list() {
    const auto size = get<std::uint64_t>();
    check(size, sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(size));
    get_raw(std::span(values));
    return values;
  }
  std::string get_text() {
    const auto text = get_list<char>();
    return {text.begin(), text.end()};
  }
  template <class T>
  void get_raw(std::span<T> values) {
    check(values.size(), sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), values.size_bytes());
    bytes_ = bytes_.subspan(values.size_bytes());
  }

 private:
  void check(std::uint64_t count, std::size_t size) const {
    if (count <= bytes_.size() / size) return;
    throw base::Error(base::ErrorKind::kFailed, "a message ends before its last value");
  }

  std::span<const std::byte> bytes_;
};

}  // namespace meanwhile::transport
