// Reading a data set from any supported file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

enum class Format { kAuto, kCsv, kNpy, kLibsvm, kIdx, kDocword, kSafetensors };
enum class DType { kFloat32, kFloat64 };

struct ReadOptions {
  Format format = Format::kAuto;  // by file name, then by content
  // Of values parsed from text, IDX and docword. NPY and safetensors keep the type they have.
  DType dtype = DType::kFloat32;
  // CSV. A column is a header name, or a number from 0; negative counts from the last.
  std::optional<bool> header;  // absent: a first line with a field that is no number is a header
  char delimiter = 0;          // 0: the first of , tab ; blank that the first line holds
  std::string label_column, weight_column;
  std::vector<std::string> ignore_columns;
  std::int64_t n_features = 0;  // libsvm, docword: columns at least; 0: the largest index seen
  int threads = 1;
};

// Reads `paths` as one data set, in order; a directory stands for its files in order of name; "-"
// is standard input; names ending in .gz or .zst are decompressed. Uncompressed NPY (C order) and
// safetensors files are mapped when there is just one, everything else is parsed into memory.
// THROWS Error(kInput) with file, line, column and what was expected.
Dataset read(const std::vector<std::filesystem::path>& paths, const ReadOptions& options);

// "csv" and so on; and back. THROWS Error(kUsage) naming the known ones.
std::string to_string(Format format);
Format parse_format(const std::string& name);

}  // namespace meanwhile::data
