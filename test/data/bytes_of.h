// Files as values: bytes given in full, laid down where a reader may expect them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "meanwhile/base/buffer.h"

namespace meanwhile::data {

// A copy of `text` in memory aligned like a mapped file (`shift` bytes off it).
class FileBytes {
 public:
  explicit FileBytes(std::string_view text, std::size_t shift = 0)
      : memory_(std::make_shared<base::Buffer<std::byte>>(text.size() + shift)),
        view_(memory_->span().subspan(shift)) {
    if (!text.empty()) std::memcpy(memory_->data() + shift, text.data(), text.size());
  }
  std::span<const std::byte> bytes() const { return view_; }
  std::shared_ptr<const void> owner() const { return memory_; }
  std::weak_ptr<const void> watch() const { return memory_; }

 private:
  std::shared_ptr<base::Buffer<std::byte>> memory_;
  std::span<const std::byte> view_;
};

// The bytes of values, as they lie in memory.
template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

// A safetensors file of this JSON and data.
inline std::string safetensors_text(std::string_view json, std::string_view data) {
  return raw<std::uint64_t>({json.size()}) + std::string(json) + std::string(data);
}

// A version 1.0 NPY file of this dictionary and data.
inline std::string npy_text(std::string_view dictionary, std::string_view data) {
  return std::string("\x93NUMPY\1\0", 8) +
         raw<std::uint16_t>({static_cast<std::uint16_t>(dictionary.size())}) +
         std::string(dictionary) + std::string(data);
}

}  // namespace meanwhile::data
