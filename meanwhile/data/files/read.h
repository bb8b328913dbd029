// Reading a data set from any supported file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

enum class Format { kAuto, kCsv, kNpy, kLibsvm, kIdx, kDocword, kText, kLdac, kSafetensors };
enum class DType { kFloat32, kFloat64 };

struct ReadOptions {
  Format format = Format::kAuto;  // by file name, then by content
  // What a file is taken for when neither tells: kCsv or kText. With kText, CSV is what is numbers
  // below its first line, and libsvm what is nothing but pairs behind its first words.
  Format fallback = Format::kCsv;
  // Of values parsed from text and IDX. NPY and safetensors keep the type they have.
  DType dtype = DType::kFloat32;
  // CSV. A column is a header name, or a number from 0; negative counts from the last.
  std::optional<bool> header;  // absent: a first line with a field that is no number is a header
  char delimiter = 0;          // 0: the first of , tab ; blank that the first line holds
  std::string label_column, weight_column;
  std::vector<std::string> ignore_columns;
  std::int64_t n_features =
      0;  // libsvm, docword, ldac: columns at least; 0: the largest index seen
  // Text: the words that are counted. Absent: those that `words` leaves of the text, which is read
  // twice for it; what comes through a pipe is held in memory meanwhile.
  std::shared_ptr<const Vocabulary> vocabulary;
  VocabularyOptions words;
  // Whether the words may be chosen from the text: not where a model expects others.
  bool may_choose_words = true;
  // Names the columns of all formats but text; sparse data has at least as many. THROWS
  // Error(kInput) when there are more columns, or the file has other names for them.
  std::shared_ptr<const Vocabulary> column_names;
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
