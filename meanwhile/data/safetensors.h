// The one file format of models, checkpoints and converted data: safetensors. doc/formats.md says
// which tensors and metadata each kind of file holds.
//
//   8 bytes, little-endian: n | n bytes of JSON | the tensors' bytes
//
// The JSON maps a name to {"dtype", "shape", "data_offsets": [begin, end)} relative to the end of
// the JSON, and "__metadata__" to an object of strings. The format allows no holes between tensors,
// so only the first one begins at a multiple of 64 bytes; the others are aligned to their element
// size because larger elements come first.
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
#include "meanwhile/data/seal.h"

namespace meanwhile::data {

// The safetensors names of the element types we use.
template <class T>
std::string_view dtype_name();
template <>
inline std::string_view dtype_name<float>() {
  return "F32";
}
template <>
inline std::string_view dtype_name<double>() {
  return "F64";
}
template <>
inline std::string_view dtype_name<std::uint16_t>() {
  return "U16";
}
template <>
inline std::string_view dtype_name<std::uint32_t>() {
  return "U32";
}
template <>
inline std::string_view dtype_name<std::int32_t>() {
  return "I32";
}
template <>
inline std::string_view dtype_name<std::int64_t>() {
  return "I64";
}

struct Tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // borrowed

  // THROWS Error(kInput) if the tensor is not of type T or not aligned for T. Files of other
  // software may be unaligned; ours are aligned.
  template <class T>
  std::span<const T> as() const;
};

using Metadata = std::map<std::string, std::string>;

// A file opened for reading, checked whole: offsets in bounds, no overlap, no hole, sizes equal to
// shapes.
// THROWS Error(kInput) saying what is wrong and, if the file was cut short, by how much.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  // Borrows `bytes`; `name` is for messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name);

  const Metadata& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  // THROWS Error(kInput) naming the tensors of the file if there is no such tensor.
  const Tensor& tensor(const std::string& name) const;
  // Whether the file is as it was written. Reads all of it.
  Seal seal() const;
  std::size_t file_bytes() const { return header_.size() + data_.size(); }
  // Keeps the mapping alive; null if the bytes are borrowed.
  const std::shared_ptr<const base::MappedFile>& mapping() const { return mapping_; }

 private:
  void parse(std::span<const std::byte> bytes);

  std::shared_ptr<const base::MappedFile> mapping_;
  std::string name_;
  std::string_view header_;          // the length and the JSON
  std::span<const std::byte> data_;  // the rest
  Metadata metadata_;
  std::map<std::string, Tensor> tensors_;
};

// A tensor of T over memory that outlives it.
template <class T>
Tensor tensor_of(std::span<const T> values, std::vector<std::int64_t> shape) {
  return {std::string(dtype_name<T>()), std::move(shape), std::as_bytes(values)};
}

struct TensorSpec {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
};

struct SafetensorsHeader {
  std::string text;                  // the length and the JSON, filled up with blanks
  std::vector<std::size_t> offsets;  // where each tensor begins, from the start of the file
  std::size_t file_bytes = 0;        // header and tensors
};

// The header of a file whose tensors lie in the order of `specs`. Its size is a multiple of 64 and
// at least `min_bytes`: a writer that does not know the shapes yet leaves so many bytes free,
// writes the tensors behind them and the header last. Tensors are aligned only if each begins at a
// multiple of its element size: put 8-byte elements first. THROWS Error(kUsage) for an unknown
// dtype or a shape too large to count.
SafetensorsHeader safetensors_header(const std::vector<TensorSpec>& specs, const Metadata& metadata,
                                     std::size_t min_bytes = 0);

// A whole file as bytes, sealed; larger elements first, then in order of name. A seal in `metadata`
// is replaced.
std::vector<std::byte> safetensors_bytes(const std::map<std::string, Tensor>& tensors,
                                         const Metadata& metadata);
// Writes such a file atomically.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors, const Metadata& metadata);

// SHA-256 over names, types, shapes and bytes of the tensors, in order of name. A run reports it as
// model_sha256; metadata does not count.
std::string sha256(const std::map<std::string, Tensor>& tensors);

}  // namespace meanwhile::data
