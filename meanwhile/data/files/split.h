// Rows of files divided into files to train and to test on, as they lie: every row is copied byte
// for byte, in the order of the input, and a header goes to each file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

struct SplitOptions {
  // Format, delimiter and header of the files. With a label column, or a file of labels, each part
  // has its share of every label.
  ReadOptions read;
  bool stratify = false;  // libsvm: each part has its share of the labels at the start of lines
  double test_fraction = 0.2;
  int folds = 0;  // not 0: so many pairs of files, whose names hold {}, the number of the fold
  std::uint64_t seed = 0;
};

struct SplitResult {
  struct File {
    std::filesystem::path path;
    std::int64_t rows = 0;
  };
  std::int64_t rows = 0;
  std::int64_t labels = 0;  // different ones; 0: not stratified
  std::vector<File> files;  // training and test file in turn
};

// Reads `paths` twice: rows are counted, then written. Needs no memory that grows with the rows but
// that of a file of labels, and writes all files or none. CSV, JSON lines, libsvm, LDA-C and text
// become plain text of the same format, NPY becomes NPY. Empty lines and comments of formats that
// have some are left out. THROWS Error(kUsage) for other formats, for pipes, and for what cannot be
// divided so; Error(kInput) with the place for a row without a label.
SplitResult split(const std::vector<std::filesystem::path>& paths, const SplitOptions& options,
                  const std::string& train, const std::string& test);

}  // namespace meanwhile::data
