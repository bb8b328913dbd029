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

// The array in `bytes` as rows x columns; one dimension is one column. Little-endian float32 and
// float64 in C order are a view of `bytes`, which `owner` keeps alive (`mapped` says that they are
// a mapped file); all else is copied: Fortran order to row-major, float16 and integers of up to 16
// bits to float32, larger integers to float64. Values may be NaN or infinite: see check_finite.
// THROWS Error(kInput), `name` first.
Dataset read_npy(std::span<const std::byte> bytes, const std::string& name,
                 std::shared_ptr<const void> owner, bool mapped);

// Writes an array of known shape piece by piece, C order; nothing is at `path` before commit().
// T: float, double, std::int32_t, std::int64_t. THROWS Error(kSystem). One write of the system for
// each append(), so append many rows at once.
template <class T>
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, const std::vector<std::int64_t>& shape);
  void append(std::span<const T> values);
  // REQUIRES: exactly the values that the shape promised were appended.
  void commit();

 private:
  base::FileWriter file_;
  std::size_t missing_;  // values that the shape promised and append() has not brought
};

// Writes a whole array, atomically. REQUIRES: values.size() is the product of `shape`.
template <class T>
void write_npy(const std::filesystem::path& path, std::span<const T> values,
               const std::vector<std::int64_t>& shape);

}  // namespace meanwhile::data
