#include "meanwhile/data/files/idx.h"

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/readers.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

template <std::size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
T big_endian(const std::byte* from) {
  UnsignedOf<sizeof(T)> bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits = static_cast<UnsignedOf<sizeof(T)>>((bits << (sizeof(T) == 1 ? 0 : 8)) |
                                              std::to_integer<std::uint8_t>(from[i]));
  }
  return std::bit_cast<T>(bits);
}

struct Header {
  std::uint8_t type = 0;
  std::int64_t rows = 0, cols = 1;
  std::size_t size = 0;  // bytes of the header
};

std::int64_t element_bytes(std::uint8_t type) {
  switch (type) {
    case 0x08:
    case 0x09:
      return 1;
    case 0x0B:
      return 2;
    case 0x0C:
    case 0x0D:
      return 4;
    case 0x0E:
      return 8;
    default:
      throw Error(ErrorKind::kInput,
                  "element type 0x{:02x} of the IDX header is unknown; expected 0x08 (unsigned "
                  "byte), 0x09, 0x0b, 0x0c (integers), 0x0d or 0x0e (floats)",
                  type);
  }
}

Header parse_header(std::span<const std::byte> bytes) {
  if (bytes.empty()) throw Error(ErrorKind::kInput, "is empty");
  if (bytes.size() < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0}) {
    throw Error(ErrorKind::kInput,
                "not an IDX file: it must begin with two zero bytes, the element type and the "
                "number of dimensions");
  }
  Header header;
  header.type = std::to_integer<std::uint8_t>(bytes[2]);
  const std::int64_t element = element_bytes(header.type);
  const auto dimensions = std::to_integer<std::size_t>(bytes[3]);
  if (dimensions == 0) throw Error(ErrorKind::kInput, "0 dimensions; expected at least one");
  header.size = 4 + 4 * dimensions;
  if (bytes.size() < header.size) {
    throw Error(ErrorKind::kInput, "cut short: {} bytes, the header of {} dimensions alone has {}",
                bytes.size(), dimensions, header.size);
  }
  std::int64_t total = element;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::int64_t size = big_endian<std::uint32_t>(bytes.data() + 4 + 4 * d);
    if (size == 0) throw Error(ErrorKind::kInput, "dimension {} is 0: it holds no values", d + 1);
    if (__builtin_mul_overflow(total, size, &total)) {
      throw Error(ErrorKind::kInput, "its dimensions are too large to count the values");
    }
    if (d == 0) {
      header.rows = size;
    } else {
      header.cols *= size;
    }
  }
  const auto data = static_cast<std::int64_t>(bytes.size() - header.size);
  if (data < total) {
    throw Error(ErrorKind::kInput, "cut short: {} bytes of values, the header promises {}", data,
                total);
  }
  if (data > total) {
    throw Error(ErrorKind::kInput,
                "{} bytes follow the {} bytes of values that the header promises", data - total,
                total);
  }
  return header;
}

template <class From, class To>
void convert(const std::byte* from, base::Buffer<To>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<To>(big_endian<From>(from + i * sizeof(From)));
  }
}

template <class To>
Dataset read_as(std::span<const std::byte> bytes, const Header& header) {
  base::Buffer<To> values(static_cast<std::size_t>(header.rows * header.cols));
  const std::byte* from = bytes.data() + header.size;
  switch (header.type) {
    case 0x08:
      convert<std::uint8_t>(from, values);
      break;
    case 0x09:
      convert<std::int8_t>(from, values);
      break;
    case 0x0B:
      convert<std::int16_t>(from, values);
      break;
    case 0x0C:
      convert<std::int32_t>(from, values);
      break;
    case 0x0D:
      convert<float>(from, values);
      break;
    default:
      convert<double>(from, values);
      break;
  }
  Dataset data;
  data.x = Dense<To>{own(data, std::move(values)).data(), header.rows, header.cols};
  return data;
}

Dataset read(const BinaryFile& file, const ReadOptions& options) {
  return read_idx(file.bytes, file.name, options.dtype);
}

Match recognise(const FileStart& start) {
  const std::string_view bytes = start.bytes;
  const bool fits = bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 &&
                    bytes[2] <= 14 && bytes[3] >= 1 && bytes[3] <= 8;
  return fits ? Match::kCertain : Match::kNo;
}

}  // namespace

constinit const Reader kIdxReader = {
    .name = "idx",
    .title = "IDX",
    .file_names = {"*.idx", "*-ubyte"},
    .recognised_by = "`00 00`, a type, a number of dimensions",
    .gives = "dense",
    .recognise = recognise,
    .kind = BinaryKind{.read = read},
};

Dataset read_idx(std::span<const std::byte> bytes, const std::string& name, DType dtype) {
  try {
    const Header header = parse_header(bytes);
    return dtype == DType::kFloat32 ? read_as<float>(bytes, header)
                                    : read_as<double>(bytes, header);
  } catch (Error& e) {
    e.in(name);
    throw;
  }
}

}  // namespace meanwhile::data
