// The one file format of models, checkpoints and converted data: safetensors. doc/formats.md says
// which tensors and metadata each kind of file holds.
//
//   8 bytes, little-endian: n | n bytes of JSON | the tensors' bytes
//
// The JSON maps a name to {"dtype", "shape", "data_offsets": [begin, end)} relative to the end of
// the JSON, and "__metadata__" to an object of strings. We align every tensor to 64 bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/base/file.h"

namespace meanwhile::data {

// The safetensors names of the element types we use.
template <class T>
std::string_view dtype_name();
template <>
inline std::string_view dtype_name<float>() { return "F32"; }
template <>
inline std::string_view dtype_name<double>() { return "F64"; }
template <>
inline std::string_view dtype_name<std::int32_t>() { return "I32"; }
template <>
inline std::string_view dtype_name<std::int64_t>() { return "I64"; }

struct Tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // borrowed

  // THROWS Error(kInput) when the tensor is not of type T.
  template <class T>
  std::span<const T> as() const;
};

using Metadata = std::map<std::string, std::string>;

// A file opened for reading, checked whole: offsets in bounds, no overlap, sizes equal to shapes.
// THROWS Error(kInput) saying what is wrong and, when the file was cut, by how much.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  // Over bytes somebody else keeps; `name` is for messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name);

  const Metadata& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  // THROWS Error(kInput) naming the tensors there are.
  const Tensor& tensor(const std::string& name) const;
  // Keeps the mapping alive; null when the bytes were borrowed.
  const std::shared_ptr<const base::MappedFile>& mapping() const { return mapping_; }

 private:
  void parse(std::span<const std::byte> bytes);

  std::shared_ptr<const base::MappedFile> mapping_;
  std::string name_;
  Metadata metadata_;
  std::map<std::string, Tensor> tensors_;
};

// A tensor of T over memory that outlives it.
template <class T>
Tensor tensor_of(std::span<const T> values, std::vector<std::int64_t> shape) {
  return {std::string(dtype_name<T>()), std::move(shape), std::as_bytes(values)};
}

// Writes a whole file at once, atomically.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                       const Metadata& metadata);

// SHA-256 over names, types, shapes and bytes of the tensors, in order of name: what a run reports
// as model_sha256, independent of metadata.
std::string sha256(const std::map<std::string, Tensor>& tensors);

}  // namespace meanwhile::data
