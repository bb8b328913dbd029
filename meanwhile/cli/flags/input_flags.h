// The flags that say how data files are to be read, the same for every command that reads some.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::cli {

class InputFlags {
 public:
  // The positional FILES and the flags. This object must outlive the parsing of `app`.
  void add_to(const FlagTable& table);
  // The positional FILES alone, for learners that read them in their own way. `what`: they are.
  void add_files_to(const FlagTable& table, const std::string& what);

  // The last of the files is not to be read but written: takes it off. Empty when there is none.
  std::string take_last();
  // THROWS Error(kUsage) when no file is named, Error(kInput) when one is missing.
  void check() const;
  const std::vector<std::string>& files() const { return files_; }
  // The files, and those that flags name.
  std::vector<std::string> all_read() const;
  bool unsealed() const { return unsealed_; }
  // THROWS Error(kInput) when a vocabulary cannot be read.
  data::ReadOptions options(int threads) const;
  data::Dataset read(int threads) const;

  // The files and the flags given, as words of a command line that reads the same again.
  std::string as_typed() const;

 private:
  std::vector<std::string> files_;
  std::string format_ = "auto", dtype_ = "float32";
  bool header_ = false, unsealed_ = false;
  std::string delimiter_, label_column_, weight_column_, text_column_;
  std::vector<std::string> ignore_columns_, columns_, categorical_;
  std::string labels_, weights_, missing_ = "error", normalize_ = "none";
  bool tfidf_ = false;
  std::int64_t max_levels_ = data::kMaxLevels;
  std::int64_t n_features_ = 0;
  std::string vocabulary_;
  data::VocabularyOptions words_;
  std::vector<Flag> options_;  // all of the above but the files
  Flag header_option_, unsealed_option_, tfidf_option_;
};

}  // namespace meanwhile::cli
