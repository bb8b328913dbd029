#include "meanwhile/data/files/npy.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/npy_header.h"
#include "meanwhile/data/files/readers.h"

static_assert(std::endian::native == std::endian::little, "'<' arrays are read where they lie");

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// IEEE half precision, for compilers without such a type.
struct Half {
  std::uint16_t bits;
  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: fraction * 2^-24, exact in float32
      const float size = static_cast<float>(fraction) * 0x1p-24f;
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
    }
    const std::uint32_t wide = exponent == 31 ? 255u : exponent + 127u - 15u;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }
};

// Copies to row-major To. Fortran order goes by tiles, so that both sides stay in the cache.
template <class From, class To>
void copy(const std::byte* from, const NpyHeader& header, To* to) {
  const auto load = [from](std::int64_t i) {
    From value;
    std::memcpy(&value, from + i * std::int64_t{sizeof(From)}, sizeof(From));
    return static_cast<To>(value);
  };
  const std::int64_t rows = header.rows, cols = header.cols;
  if (!header.fortran_order) {
    for (std::int64_t i = 0; i < rows * cols; ++i) to[i] = load(i);
    return;
  }
  constexpr std::int64_t kTile = 64;
  for (std::int64_t row = 0; row < rows; row += kTile) {
    for (std::int64_t col = 0; col < cols; col += kTile) {
      for (std::int64_t i = row; i < std::min(row + kTile, rows); ++i) {
        for (std::int64_t j = col; j < std::min(col + kTile, cols); ++j) {
          to[i * cols + j] = load(j * rows + i);
        }
      }
    }
  }
}

template <class From, class To>
Dataset copied(std::span<const std::byte> values, const NpyHeader& header) {
  base::Buffer<To> buffer(static_cast<std::size_t>(header.rows * header.cols));
  copy<From, To>(values.data(), header, buffer.data());
  Dataset data;
  data.x = Dense<To>{own(data, std::move(buffer)).data(), header.rows, header.cols};
  return data;
}

template <class T>
Dataset viewed(std::span<const std::byte> values, const NpyHeader& header,
               std::shared_ptr<const void> owner, bool mapped) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(values.data()) % alignof(T) == 0;
  // One column (or row) is the same in both orders.
  const bool row_major = !header.fortran_order || header.rows == 1 || header.cols == 1;
  if (!aligned || !row_major) return copied<T, T>(values, header);
  Dataset data;
  data.x = Dense<T>{reinterpret_cast<const T*>(values.data()), header.rows, header.cols};
  data.mapped = mapped;
  data.owners.push_back(std::move(owner));
  return data;
}

Dataset read_values(std::span<const std::byte> values, const NpyHeader& header,
                    std::shared_ptr<const void> owner, bool mapped) {
  switch (header.type) {
    case NpyType::kFloat16:
      return copied<Half, float>(values, header);
    case NpyType::kFloat32:
      return viewed<float>(values, header, std::move(owner), mapped);
    case NpyType::kFloat64:
      return viewed<double>(values, header, std::move(owner), mapped);
    case NpyType::kInt8:
      return copied<std::int8_t, float>(values, header);
    case NpyType::kUint8:
      return copied<std::uint8_t, float>(values, header);
    case NpyType::kInt16:
      return copied<std::int16_t, float>(values, header);
    case NpyType::kUint16:
      return copied<std::uint16_t, float>(values, header);
    case NpyType::kInt32:
      return copied<std::int32_t, double>(values, header);
    case NpyType::kUint32:
      return copied<std::uint32_t, double>(values, header);
    case NpyType::kInt64:
      return copied<std::int64_t, double>(values, header);
    case NpyType::kUint64:
      return copied<std::uint64_t, double>(values, header);
  }
  throw Error(ErrorKind::kInput, "unknown element type");
}

template <class T>
constexpr std::string_view kDescr = "";
template <>
constexpr std::string_view kDescr<float> = "<f4";
template <>
constexpr std::string_view kDescr<double> = "<f8";
template <>
constexpr std::string_view kDescr<std::int32_t> = "<i4";
template <>
constexpr std::string_view kDescr<std::int64_t> = "<i8";

Dataset read(const BinaryFile& file, const ReadOptions&) {
  return read_npy(file.bytes, file.name, file.owner, file.mapped);
}

std::optional<Dataset> map(const BinaryFile& file) {
  try {
    const NpyHeader header = parse_npy_header(file.bytes);
    const bool floats = header.type == NpyType::kFloat32 || header.type == NpyType::kFloat64;
    if (header.fortran_order || !floats) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // read() reports the error
  }
  Dataset data = read_npy(file.bytes, file.name, file.owner, true);
  if (!data.mapped) return std::nullopt;  // not aligned
  return data;
}

Match recognise(const FileStart& start) {
  return start.bytes.starts_with("\x93NUMPY") ? Match::kCertain : Match::kNo;
}

}  // namespace

constinit const Reader kNpyReader = {
    .name = "npy",
    .title = "NPY",
    .file_names = {"*.npy"},
    .recognised_by = "`\\x93NUMPY`",
    .gives = "dense",
    .recognise = recognise,
    .has_roles = true,
    .kind = BinaryKind{.read = read, .map = map},
};

Dataset read_npy(std::span<const std::byte> bytes, const std::string& name,
                 std::shared_ptr<const void> owner, bool mapped) {
  try {
    const NpyHeader header = parse_npy_header(bytes);
    return read_values(bytes.subspan(header.size), header, std::move(owner), mapped);
  } catch (Error& e) {
    e.in(name);
    throw;
  }
}

template <class T>
NpyWriter<T>::NpyWriter(const std::filesystem::path& path, const std::vector<std::int64_t>& shape)
    : file_(path), missing_(1) {
  for (const std::int64_t size : shape) missing_ *= static_cast<std::size_t>(size);
  file_.write(npy_header(kDescr<T>, shape));
}

template <class T>
void NpyWriter<T>::append(std::span<const T> values) {
  assert(values.size() <= missing_);
  file_.write(std::as_bytes(values));
  missing_ -= values.size();
}

template <class T>
void NpyWriter<T>::commit() {
  assert(missing_ == 0);
  file_.commit();
}

template <class T>
void write_npy(const std::filesystem::path& path, std::span<const T> values,
               const std::vector<std::int64_t>& shape) {
  NpyWriter<T> writer(path, shape);
  writer.append(values);
  writer.commit();
}

template class NpyWriter<float>;
template class NpyWriter<double>;
template class NpyWriter<std::int32_t>;
template class NpyWriter<std::int64_t>;
template void write_npy(const std::filesystem::path&, std::span<const float>,
                        const std::vector<std::int64_t>&);
template void write_npy(const std::filesystem::path&, std::span<const double>,
                        const std::vector<std::int64_t>&);
template void write_npy(const std::filesystem::path&, std::span<const std::int32_t>,
                        const std::vector<std::int64_t>&);
template void write_npy(const std::filesystem::path&, std::span<const std::int64_t>,
                        const std::vector<std::int64_t>&);

}  // namespace meanwhile::data
