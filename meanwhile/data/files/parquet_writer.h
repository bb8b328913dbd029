// A Parquet file of numbers in named columns, the first of which may hold words. A build without
// Arrow has no_arrow.cc instead.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace meanwhile::data {

// THROWS Error(kUsage) in a build that cannot write Parquet.
void check_can_write_parquet();

class ParquetWriter {
 public:
  // `words`: not empty: the first column is text, and its values are indices into it. `whole`: else
  // it is int32. All other columns are double. Nothing is at `path` before commit().
  // THROWS Error(kSystem), and as check_can_write_parquet().
  ParquetWriter(const std::filesystem::path& path, const std::vector<std::string>& names,
                std::vector<std::string> words, bool whole);
  ~ParquetWriter();

  // Whole rows, row-major. NaN is null. THROWS Error(kSystem).
  void append(std::span<const double> values, std::int64_t rows);
  void commit();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace meanwhile::data
