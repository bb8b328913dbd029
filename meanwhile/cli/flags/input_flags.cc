#include "meanwhile/cli/flags/input_flags.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/data/files/readers.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

// "CSV, NPY or libsvm"
std::string format_titles() {
  std::string text;
  for (const data::Reader* reader : data::readers()) {
    const bool last = reader == data::readers().back();
    text += text.empty() ? "" : last ? " or " : ", ";
    text += reader->title;
  }
  return text;
}

char parse_delimiter(const std::string& text) {
  if (text.empty()) return 0;
  if (text == "tab" || text == "\\t") return '\t';
  if (text == "space") return ' ';
  if (text.size() != 1) {
    throw Error(ErrorKind::kUsage,
                "--delimiter: expected one character, 'tab' or 'space', got '{}'", text);
  }
  return text[0];
}

}  // namespace

void InputFlags::add_to(const FlagTable& table) {
  table.texts("FILES", files_,
              "data: " + format_titles() +
                  ", also .gz and .zst; several files, a directory, or - for standard input");
  const auto add = [&](const Flag& flag) {
    options_.push_back(flag.group("Reading"));
    return flag;
  };
  add(table.choice("--format", format_, data::format_names(),
                   "format of the files; auto: by each file's name, or else its content"));
  add(table.choice("--dtype", dtype_, {"float32", "float64"}, "type of numbers read from text"));
  header_option_ =
      add(table.either("--header", header_,
                       "CSV: the first line holds column names; --no-header: it is data (default: "
                       "detect)"));
  add(table.text("--delimiter", delimiter_, "CSV: the character between fields (default: detect)"))
      .type("CHAR");
  add(table.text("--label-column", label_column_,
                 "tables: column of labels, a name or a number (from 0; -1 is the last)"))
      .type("COLUMN");
  add(table.text("--labels", labels_,
                 "file of labels, one for each row: NPY, IDX, or text with a number or word "
                 "on each line"))
      .type("FILE");
  add(table.text("--weights", weights_, "file of sample weights, one for each row")).type("FILE");
  add(table.text("--weight-column", weight_column_, "tables: column of sample weights"))
      .type("COLUMN");
  add(table.text("--text-column", text_column_,
                 "CSV, JSON Lines: column of text whose words are counted; other columns are "
                 "ignored but for labels and weights"))
      .type("COLUMN");
  add(table.whole("--ngrams", words_.ngrams,
                  "text: count runs of up to this many words, after stop words are removed", 1));
  add(table.texts("--ignore-column", ignore_columns_,
                  "tables: columns to leave out, such as id,name or x*; may be repeated"))
      .type("COLUMNS");
  add(table.texts("--columns", columns_,
                  "tables: columns to learn from, such as a,b or x* (default: all); may be "
                  "repeated"))
      .type("COLUMNS");
  add(table.texts("--categorical", categorical_,
                  "tables: columns of numbers to treat as categories; columns of words always "
                  "are"))
      .type("COLUMNS");
  add(table.choice("--missing", missing_, data::missing_names(),
                   "tables: treatment of missing values (empty, NA, NaN, null, ?): error "
                   "refuses them, drop leaves the row out of training, mean and median fill "
                   "them in, indicator adds a column that marks them to the mean"));
  add(table.whole("--max-levels", max_levels_,
                  "tables: most levels of a category; rarer ones are merged into one", 1));
  tfidf_option_ = add(table.toggle(
      "--tfidf", tfidf_, "multiply counts by the inverse document frequency of their column"));
  add(table.choice("--normalize", normalize_, {"none", "l2"},
                   "l2: divide each row by its Euclidean length, after all other weighting"));
  add(table.whole("--n-features", n_features_, "libsvm, docword, ldac: least number of columns",
                  0));
  add(table.text("--vocabulary", vocabulary_,
                 "file with a word on each line: the words to count in text, else the names "
                 "of the columns"))
      .type("FILE");
  add(table.real("--min-df", words_.min_df,
                 "text: leave out words in fewer documents than this; below 1, a fraction of "
                 "the documents",
                 0));
  add(table.real("--max-df", words_.max_df,
                 "text: leave out words in more documents than this; up to 1, a fraction of "
                 "the documents",
                 0));
  add(table.whole("--max-words", words_.max_words,
                  "text: most words to keep, those in most documents", 1));
  add(table.text("--stop-words", words_.stop_words,
                 "text: words to leave out: english, none, or a file with a word on each line"))
      .type("LIST")
      .shown_default(words_.stop_words);
  unsealed_option_ = add(
      table.toggle("--unsealed", unsealed_,
                   "accept files whose seal is broken or missing, with a note; damage then goes "
                   "unnoticed"));
}

void InputFlags::add_files_to(const FlagTable& table, const std::string& what) {
  table.texts("FILES", files_, what);
}

std::string InputFlags::take_last() {
  if (files_.empty()) return "";
  std::string last = std::move(files_.back());
  files_.pop_back();
  return last;
}

void InputFlags::check() const {
  if (files_.empty()) throw Error(ErrorKind::kUsage, "no data file is given");
  if (std::count(files_.begin(), files_.end(), "-") > 1) {
    throw Error(ErrorKind::kUsage, "standard input (-) is given twice");
  }
  for (const std::string& file : all_read()) {
    std::error_code error;
    const bool exists = file == "-" || std::filesystem::exists(file, error);
    if (error) throw Error(ErrorKind::kInput, "{}: {}", file, error.message());
    if (!exists) throw Error(ErrorKind::kInput, "{}: no such file or directory", file);
  }
  parse_delimiter(delimiter_);
}

std::vector<std::string> InputFlags::all_read() const {
  std::vector<std::string> named = files_;
  for (const std::string& file : {vocabulary_, labels_, weights_}) {
    if (!file.empty()) named.push_back(file);
  }
  if (words_.stop_words != "english" && words_.stop_words != "none") {
    named.push_back(words_.stop_words);
  }
  return named;
}

data::ReadOptions InputFlags::options(int threads) const {
  data::ReadOptions options;
  options.format = data::parse_format(format_);
  options.dtype = dtype_ == "float64" ? data::DType::kFloat64 : data::DType::kFloat32;
  if (header_option_.given()) options.header = header_;
  options.delimiter = parse_delimiter(delimiter_);
  options.label_column = label_column_;
  options.weight_column = weight_column_;
  options.text_column = text_column_;
  options.ignore_columns = ignore_columns_;
  options.columns = columns_;
  options.categorical = categorical_;
  options.missing = data::parse_missing(missing_);
  options.labels = labels_;
  options.weights = weights_;
  options.tfidf = tfidf_;
  options.normalize = normalize_ == "l2";
  options.max_levels = static_cast<std::size_t>(max_levels_);
  options.n_features = n_features_;
  options.words = words_;
  if (!vocabulary_.empty()) {
    options.vocabulary =
        std::make_shared<const data::Vocabulary>(data::read_vocabulary(vocabulary_));
    options.column_names = options.vocabulary;
  }
  options.unsealed = unsealed_;
  options.threads = threads;
  return options;
}

data::Dataset InputFlags::read(int threads) const {
  return data::read({files_.begin(), files_.end()}, options(threads));
}

std::string InputFlags::as_typed() const {
  std::string text;
  const auto add = [&](const std::string& word) {
    if (!text.empty()) text += ' ';
    text += shell_quoted(word);
  };
  for (const std::string& file : files_) add(file);
  for (const Flag& option : options_) {
    if (!option.given()) continue;
    if (option.name() == header_option_.name()) {
      add(header_ ? "--header" : "--no-header");
      continue;
    }
    if (option.name() == unsealed_option_.name() || option.name() == tfidf_option_.name()) {
      add(option.name());
      continue;
    }
    for (const std::string& value : option.values()) {
      add(option.name());
      add(value);
    }
  }
  return text;
}

}  // namespace meanwhile::cli
