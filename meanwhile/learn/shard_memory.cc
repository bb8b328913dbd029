#include "meanwhile/learn/shard_memory.h"

#include <algorithm>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

namespace {

std::size_t element_bytes(const data::TensorSpec& tensor) {
  if (tensor.dtype == "F64" || tensor.dtype == "I64") return 8;
  if (tensor.dtype == "F32" || tensor.dtype == "I32" || tensor.dtype == "U32") return 4;
  if (tensor.dtype == "U16") return 2;
  throw Error(ErrorKind::kUsage,
              "shard memory \"{}\": dtype {}, expected F32, F64, I32, I64, U16 or U32", tensor.name,
              tensor.dtype);
}

}  // namespace

ShardMemory::ShardMemory(const MemoryShape& shape) {
  for (const data::TensorSpec& tensor : shape) {
    std::size_t bytes = element_bytes(tensor);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::size_t>(size);
    tensors_[tensor.name] = {tensor.dtype, tensor.shape, std::vector<std::byte>(bytes)};
  }
}

std::size_t ShardMemory::bytes() const {
  std::size_t sum = 0;
  for (const auto& [name, values] : tensors_) sum += values.bytes.size();
  return sum;
}

std::span<std::byte> ShardMemory::bytes_of(const std::string& name, std::string_view dtype) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end() || found->second.dtype != dtype) {
    throw Error(ErrorKind::kUsage, "shard memory \"{}\" of type {} was not declared", name, dtype);
  }
  return found->second.bytes;
}

std::map<std::string, data::Tensor> ShardMemory::tensors() const {
  std::map<std::string, data::Tensor> all;
  for (const auto& [name, values] : tensors_) {
    all[name] = {values.dtype, values.shape, values.bytes};
  }
  return all;
}

void ShardMemory::restore(const data::SafetensorsFile& file) {
  if (file.tensors().size() != tensors_.size()) {
    throw Error(ErrorKind::kInput, "{} tensors of shard memory, expected {}", file.tensors().size(),
                tensors_.size());
  }
  for (auto& [name, values] : tensors_) {
    const data::Tensor& tensor = file.tensor(name);
    if (tensor.dtype != values.dtype || tensor.shape != values.shape) {
      throw Error(ErrorKind::kInput, "shard memory \"{}\" is {} [{}], expected {} [{}]", name,
                  tensor.dtype, fmt::join(tensor.shape, ", "), values.dtype,
                  fmt::join(values.shape, ", "));
    }
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), values.bytes.begin());
  }
}

}  // namespace meanwhile::learn
