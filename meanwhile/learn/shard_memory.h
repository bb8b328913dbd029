// Memory of a shard from round to round: named tensors that belong to the shard, as the topic of
// each of its tokens, the factors of its users or the messages on its edges. A learner declares
// them (RoundLearner::memory_shape) and changes them in place in work(). A checkpoint is the
// learner's state and the memory of every shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/large_pages.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::learn {

// The tensors of a shard: name, safetensors dtype and shape of each.
using MemoryShape = std::vector<data::TensorSpec>;

// Thread safety: none; the memory of a shard is used by one thread at a time.
class ShardMemory {
 public:
  // No tensors.
  ShardMemory() = default;
  // All zeros. THROWS Error(kUsage) for a dtype other than F32, F64, I32, I64, U16,
  // U32.
  explicit ShardMemory(const MemoryShape& shape);

  bool empty() const { return tensors_.empty(); }
  std::size_t bytes() const;

  // The values of a tensor, aligned to 64 bytes, to be read and changed. THROWS Error(kUsage) when
  // no tensor of this name and type was declared.
  template <class T>
  std::span<T> tensor(const std::string& name) {
    const std::span<std::byte> bytes = bytes_of(name, data::dtype_name<T>());
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // As a safetensors file holds them; borrowed from the memory until the next work().
  std::map<std::string, data::Tensor> tensors() const;
  // Takes the values of a file. THROWS Error(kInput) when the file does not hold exactly these
  // tensors.
  void restore(const data::SafetensorsFile& file);

 private:
  struct Values {
    std::string dtype;
    std::vector<std::int64_t> shape;
    base::LargeVector<std::byte> bytes;
  };
  std::span<std::byte> bytes_of(const std::string& name, std::string_view dtype);

  std::map<std::string, Values> tensors_;
};

}  // namespace meanwhile::learn
