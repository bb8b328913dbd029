#include "meanwhile/data/files/split.h"

#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_file.h"
#include "meanwhile/data/files/row_text.h"
#include "meanwhile/data/strata.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using base::parameter;

constexpr std::size_t kMostLabels = 1000, kMostFolds = 1000;
constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 18;

// A file that rows are added to.
class PartFile {
 public:
  PartFile(const std::string& path, std::string header)
      : path_(path), file_(path), text_(std::move(header)) {}
  void add(std::string_view row) {
    text_ += row;
    ++rows_;
    if (text_.size() >= kWrittenAtOnce) flush();
  }
  SplitResult::File commit() {
    flush();
    file_.commit();
    return {path_, rows_};
  }

 private:
  void flush() {
    file_.write(text_);
    text_.clear();
  }

  std::filesystem::path path_;
  base::FileWriter file_;
  std::string text_;
  std::int64_t rows_ = 0;
};

std::string numbered(const std::string& name, int number) {
  std::string text = name;
  const std::size_t at = text.find("{}");
  if (at != text.npos) text.replace(at, 2, std::to_string(number));
  return text;
}

class Split {
 public:
  Split(const std::vector<std::filesystem::path>& paths, const SplitOptions& options,
        const std::string& train, const std::string& test)
      : options_(options), train_(train), test_(test) {
    check();
    files_ = find_inputs(paths, options.read);
    for (const InputFile& file : files_) {
      if (file.opened != nullptr || file.held != nullptr) {
        throw Error(ErrorKind::kUsage,
                    "{}: a pipe can be read once, and rows are counted before "
                    "they are written; save it to a file",
                    display_name(file.path));
      }
      if (file.reader != files_.front().reader) {
        throw Error(ErrorKind::kUsage, "{} is {}, but {} is {}", display_name(file.path),
                    file.reader->title, display_name(files_.front().path),
                    files_.front().reader->title);
      }
    }
    if (!options.read.labels.empty()) labels_ = read_column(options.read.labels).values;
    if (files_.front().reader->name == "npy" && files_.size() > 1) {
      throw Error(ErrorKind::kUsage, "NPY files are split one at a time");
    }
    const bool in_rows = !options.read.label_column.empty() || options.stratify;
    if (in_rows && !labels_.empty()) {
      throw Error(ErrorKind::kUsage, "{} and {}: labels are in the rows or in a file of their own",
                  parameter("labels"), parameter("label_column"));
    }
    const std::string_view format = files_.front().reader->name;
    if (options.stratify && format != "libsvm") {
      throw Error(ErrorKind::kUsage, "{}: is for libsvm; {} says which column is the label",
                  parameter("stratify"), parameter("label_column"));
    }
    if (!options.read.label_column.empty() && format != "csv" && format != "jsonl") {
      throw Error(ErrorKind::kUsage, "{}: {} has no columns with names", parameter("label_column"),
                  files_.front().reader->title);
    }
    has_labels_ = in_rows || !labels_.empty();
    reads_labels_ = in_rows;
  }

  SplitResult result() {
    count();
    Strata dealer(sizes_, shares(), options_.seed);
    check_parts(dealer);
    return write(dealer);
  }

 private:
  void check() const {
    if (options_.folds == 0) {
      if (!(options_.test_fraction > 0 && options_.test_fraction < 1)) {
        throw Error(ErrorKind::kUsage, "{} is {}; it must be above 0 and below 1",
                    parameter("test_fraction"), options_.test_fraction);
      }
    } else if (options_.folds < 2 || options_.folds > static_cast<int>(kMostFolds)) {
      throw Error(ErrorKind::kUsage, "{} is {}; it must be from 2 to {}", parameter("folds"),
                  options_.folds, kMostFolds);
    }
    for (const std::string& name : {train_, test_}) {
      if (options_.folds > 0 && name.find("{}") == name.npos) {
        throw Error(ErrorKind::kUsage,
                    "{}: there is a file for each fold, so its name needs {{}} in the place of "
                    "the fold's number",
                    name);
      }
      if (is_compressed(name)) {
        throw Error(ErrorKind::kUsage,
                    "{}: files are written uncompressed; leave out the last "
                    "ending",
                    name);
      }
    }
    if (train_ == test_) {
      throw Error(ErrorKind::kUsage, "{}: is named for the rows to train and to test on", train_);
    }
  }

  std::vector<double> shares() const {
    if (options_.folds == 0) return {1 - options_.test_fraction, options_.test_fraction};
    return std::vector<double>(static_cast<std::size_t>(options_.folds), 1.0 / options_.folds);
  }

  // Calls use(row, stratum) for every row of all files.
  template <class Use>
  void each_row(const Use& use) {
    std::string label;
    std::int64_t row = 0;
    std::string header;
    for (const InputFile& file : files_) {
      const auto rows = open_row_text(file, options_.read);
      // A byte order mark before it makes no difference.
      std::string_view mine = rows->header();
      if (mine.starts_with("\xef\xbb\xbf")) mine.remove_prefix(3);
      if (&file == &files_.front()) header = mine;
      if (mine != header) {
        throw Error(ErrorKind::kInput, "{}: its header is not that of {}", display_name(file.path),
                    display_name(files_.front().path));
      }
      rows->each(reads_labels_ ? &label : nullptr,
                 [&](std::string_view text) { use(text, stratum_of(label, row++)); });
    }
    if (!labels_.empty() && row != static_cast<std::int64_t>(labels_.size())) {
      throw Error(ErrorKind::kInput, "{}: has {}, the data {}", options_.read.labels.string(),
                  base::counted(labels_.size(), "label"), base::counted(row, "row"));
    }
  }

  std::size_t stratum_of(const std::string& label, std::int64_t row) {
    if (!has_labels_) return 0;
    std::string key = label;
    if (!labels_.empty()) {
      if (row >= static_cast<std::int64_t>(labels_.size())) return 0;
      key = fmt::format("{}", labels_[static_cast<std::size_t>(row)]);
    }
    const auto found = strata_.try_emplace(key, strata_.size()).first;
    if (strata_.size() > kMostLabels) {
      throw Error(ErrorKind::kUsage,
                  "there are more than {} different labels: rows are divided by classes, not by "
                  "numbers; leave the label out",
                  kMostLabels);
    }
    return found->second;
  }

  void count() {
    each_row([&](std::string_view, std::size_t stratum) {
      if (stratum >= sizes_.size()) sizes_.resize(stratum + 1, 0);
      ++sizes_[stratum];
      ++rows_;
    });
  }

  void check_parts(const Strata& dealer) const {
    const int parts = options_.folds == 0 ? 2 : options_.folds;
    for (int part = 0; part < parts; ++part) {
      if (rows_ > 0 && dealer.rows(part) > 0) continue;
      throw Error(ErrorKind::kUsage, "{} cannot be divided so: a part would have no row",
                  base::counted(rows_, "row"));
    }
  }

  [[noreturn]] static void throw_changed() {
    throw Error(ErrorKind::kInput, "the rows have changed since they were counted");
  }

  SplitResult write(Strata& dealer) {
    const int pairs = options_.folds == 0 ? 1 : options_.folds;
    const auto first = open_row_text(files_.front(), options_.read);
    std::vector<std::unique_ptr<PartFile>> parts;  // training and test file in turn
    for (int pair = 0; pair < pairs; ++pair) {
      const std::int64_t tested = dealer.rows(options_.folds == 0 ? 1 : pair);
      for (const bool train : {true, false}) {
        const std::string name = numbered(train ? train_ : test_, pair + 1);
        parts.push_back(std::make_unique<PartFile>(
            name, first->header() + first->header_of(train ? rows_ - tested : tested)));
      }
    }
    std::vector<std::int64_t> left = sizes_;
    std::int64_t written = 0;
    each_row([&](std::string_view row, std::size_t stratum) {
      if (stratum >= left.size() || left[stratum]-- == 0) throw_changed();
      ++written;
      const int drawn = dealer.next(stratum);
      for (int pair = 0; pair < pairs; ++pair) {
        const bool is_test = options_.folds == 0 ? drawn == 1 : drawn == pair;
        parts[static_cast<std::size_t>(2 * pair + (is_test ? 1 : 0))]->add(row);
      }
    });
    if (written != rows_) throw_changed();
    SplitResult result;
    result.rows = rows_;
    result.labels = static_cast<std::int64_t>(strata_.size());
    for (const auto& part : parts) result.files.push_back(part->commit());
    return result;
  }

  const SplitOptions& options_;
  const std::string train_, test_;
  std::vector<InputFile> files_;
  std::vector<double> labels_;  // of a file of their own
  bool has_labels_ = false, reads_labels_ = false;
  std::map<std::string, std::size_t> strata_;  // of labels, in order of appearance
  std::vector<std::int64_t> sizes_;            // of strata
  std::int64_t rows_ = 0;
};

}  // namespace

SplitResult split(const std::vector<std::filesystem::path>& paths, const SplitOptions& options,
                  const std::string& train, const std::string& test) {
  return Split(paths, options, train, test).result();
}

}  // namespace meanwhile::data
