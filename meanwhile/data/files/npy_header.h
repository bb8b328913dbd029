// Reads and writes the header of a .npy file.
//
//   "\x93NUMPY" | major, minor version | length, 2 bytes (version 1) or 4 | a Python dictionary
//   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } filled up with blanks | "\n"
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::data {

enum class NpyType {
  kFloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
};

struct NpyHeader {
  NpyType type{};
  bool fortran_order = false;
  std::int64_t rows = 0, cols = 1;  // both at least 1
  std::size_t size = 0;             // bytes before the first value
};

// The header of the whole file in `bytes`, whose size is checked too. THROWS Error(kInput) if it is
// not a .npy file, is cut short, or does not hold a matrix of little-endian numbers.
NpyHeader parse_npy_header(std::span<const std::byte> bytes);

// A header of version 1.0, padded to a multiple of 64 bytes.
std::string npy_header(std::string_view descr, const std::vector<std::int64_t>& shape);

}  // namespace meanwhile::data
