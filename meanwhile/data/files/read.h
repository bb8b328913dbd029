// Reads a data set from files of any supported format.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/table/schema.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

struct Reader;

enum class DType { kFloat32, kFloat64 };

// Treatment of rows that lack a value for which a model's schema has no fill.
enum class Incomplete {
  kAsTrained,  // what ReadOptions::missing said in training
  kDrop,       // they are left out
  kKeep,       // they stay, as zeros; Dataset::incomplete lists them
};

struct ReadOptions {
  // One of readers() (readers.h). Null: each file's name tells, or else its content.
  const Reader* format = nullptr;
  // Whether a file of unknown format is text, not CSV. A file then counts as CSV only if every
  // field below the first line is a number, and as libsvm only if every token after the label is
  // INDEX:VALUE.
  bool expect_documents = false;
  // Type of values parsed from text and IDX. NPY and safetensors keep the type they have.
  DType dtype = DType::kFloat32;
  // CSV: whether the first line holds names. Absent: detect (csv_layout.h).
  std::optional<bool> header;
  char delimiter = 0;  // 0: detect
  // Tables. Columns are named as column_roles.h says.
  std::string label_column, weight_column;
  std::string text_column;           // its words are the features; the other columns are none
  std::vector<std::string> columns;  // the only features; empty: all that have no other use
  std::vector<std::string> ignore_columns;
  std::vector<std::string> categorical;  // categories, although their cells may be numbers
  Missing missing = Missing::kError;
  std::filesystem::path labels, weights;  // files of them, one a row; see column_file.h
  bool tfidf = false, normalize = false;  // see Weighting; applied by the caller that trains
  std::size_t max_levels = kMaxLevels;    // of a category
  // The columns that a model was made from. Present: they are found in the files by name, cells
  // are encoded as they were in training, and the five options above do not count. Labels and
  // weights are read only if they are wanted.
  std::shared_ptr<const TableSchema> schema;
  bool want_labels = true;
  Incomplete incomplete = Incomplete::kAsTrained;
  // libsvm, docword, ldac: the least number of columns. The largest index may ask for more.
  std::int64_t n_features = 0;
  // Text: the words that are counted. Absent: `words` chooses them from the text, which is then
  // read twice; the text of a pipe is held in memory meanwhile.
  std::shared_ptr<const Vocabulary> vocabulary;
  VocabularyOptions words;
  // Whether words may be chosen from the text. False where a model expects words of its own.
  bool may_choose_words = true;
  // Names of the columns of all formats but text; sparse data has at least as many columns. read()
  // THROWS Error(kInput) if there are more columns, or the file has other names for them.
  std::shared_ptr<const Vocabulary> column_names;
  // Whether the seals of files that `convert` wrote are checked whatever their size. Otherwise only
  // those of small files are: a large file is mapped, and a run may never touch all of it.
  bool check_seals = false;
  // Whether a file is read although its seal is broken or lost.
  bool unsealed = false;
  base::Threads threads = 1;
};

// Reads `paths` as one data set, in order. A directory stands for its files in order of name, "-"
// is standard input, and files whose names end in .gz or .zst are decompressed. A single
// uncompressed NPY (C order) or safetensors file is mapped; all others are read into memory. THROWS
// Error(kInput) with file, line, column and what was expected.
Dataset read(const std::vector<std::filesystem::path>& paths, const ReadOptions& options);
}  // namespace meanwhile::data
