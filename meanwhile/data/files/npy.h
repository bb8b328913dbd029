// NumPy's .npy files: one array after a header that is a Python dictionary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/file.h"
#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

// The array in `bytes` as rows x columns; an array of one dimension is one column. Little-endian
// float32 and float64 in C order are views of `bytes`, which `owner` keeps alive (`mapped`: the
// bytes are a mapped file). All other arrays are copied: Fortran order to row-major, float16 and
// integers of up to 16 bits to float32, larger integers to float64. Values may be NaN or infinite:
// see check_finite.
// THROWS Error(kInput), `name` first.
Dataset read_npy(std::span<const std::byte> bytes, const std::string& name,
                 std::shared_ptr<const void> owner, bool mapped);

// Writes an array of known shape piece by piece, in C order. The file appears at `path` on
// commit(). Each append() is one write of the system, so append many rows at once. T: float,
// double, std::int32_t, std::int64_t. THROWS Error(kSystem).
template <class T>
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, const std::vector<std::int64_t>& shape);
  void append(std::span<const T> values);
  // REQUIRES: exactly the values that the shape promised were appended.
  void commit();

 private:
  base::FileWriter file_;
  std::size_t missing_;  // values that the shape promises and append() has not got yet
};

// Writes a whole array, atomically. REQUIRES: values.size() is the product of `shape`.
template <class T>
void write_npy(const std::filesystem::path& path, std::span<const T> values,
               const std::vector<std::int64_t>& shape);

}  // namespace meanwhile::data
