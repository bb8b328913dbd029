#include "meanwhile/data/files/read.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/column_file.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/read_found.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/files/text_column.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/text/count_words.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

Dataset read_all(const std::vector<InputFile>& files, const ReadOptions& options) {
  return std::visit(
      [&]<class T>(const std::unique_ptr<RowSource<T>>& rows) {
        MemorySink<T> sink(rows->sparse());
        return settled_rows(sink, rows->pour(sink), options, files.front());
      },
      open_rows(files, options));
}

}  // namespace

std::vector<InputFile> find_checked_inputs(const std::vector<std::filesystem::path>& paths,
                                           const ReadOptions& options) {
  if (options.threads.count < 1) {
    throw Error(ErrorKind::kUsage, "threads: found {}, expected 1 or more", options.threads.count);
  }
  auto files = find_inputs(paths, options);
  const bool any_column = !options.label_column.empty() || !options.weight_column.empty() ||
                          !options.ignore_columns.empty() || !options.columns.empty() ||
                          !options.categorical.empty();
  for (const InputFile& file : files) {
    if (!any_column || file.reader->has_roles) continue;
    std::vector<std::string_view> titles;
    for (const Reader* reader : readers()) {
      if (reader->has_roles) titles.push_back(reader->title);
    }
    throw Error(ErrorKind::kUsage,
                "{}: is {}; label, weight and ignored columns can be named in {} only",
                display_name(file.path), file.reader->name, list_text(titles));
  }
  return files;
}

void check_columns(std::int64_t cols, const std::vector<InputFile>& files) {
  if (cols > 0) return;
  throw Error(ErrorKind::kInput,
              "{}: every row is empty, so the number of columns is unknown; give `n_features`",
              display_name(files.front().path));
}

ReadOptions with_vocabulary(std::vector<InputFile>& files, ReadOptions options) {
  std::vector<InputFile> texts;
  // A model says which words its text has.
  if (options.schema) {
    for (const Column& column : options.schema->columns) {
      if (column.role != ColumnRole::kFeature || column.kind != ColumnKind::kText) continue;
      options.vocabulary = std::make_shared<const Vocabulary>(column.levels);
      options.words.ngrams = options.schema->ngrams;
    }
  }
  const bool text_column = has_text_column(options);
  OpenDocuments open;
  for (InputFile& file : files) {
    if (text_column && file.reader->text_column == nullptr && !file.reader->counts_words()) {
      throw Error(ErrorKind::kUsage, "{}: is {}, which has no column of text",
                  display_name(file.path), file.reader->name);
    }
    const bool of_table = text_column && file.reader->text_column != nullptr;
    if ((!of_table && !file.reader->counts_words()) || options.vocabulary) continue;
    if (of_table) open = file.reader->text_column(options).open;
    if (!options.may_choose_words) {
      throw Error(ErrorKind::kUsage,
                  "{}: is text, and the model does not say which words to count; give `vocabulary`",
                  display_name(file.path));
    }
    if (file.opened) {
      file.held =
          std::make_shared<const base::Buffer<std::byte>>(file.opened->rest(options.threads.stop));
      file.opened = nullptr;
    }
    texts.push_back(file);
  }
  if (!texts.empty()) {
    options.vocabulary = std::make_shared<const Vocabulary>(
        count_words(text_inputs(texts), options.words, options.threads, {}, open));
  }
  return options;
}

void settle_columns(std::int64_t& cols, std::vector<std::string>& names, bool sparse,
                    const ReadOptions& options, const std::vector<InputFile>& files) {
  const std::string name = display_name(files.front().path);
  if (sparse) cols = std::max(cols, options.n_features);
  const bool text = std::any_of(files.begin(), files.end(),
                                [](const InputFile& file) { return file.reader->counts_words(); });
  const Vocabulary* const words = text ? options.vocabulary.get() : options.column_names.get();
  if (words != nullptr) {
    if (!names.empty() && names != words->words()) {
      throw Error(ErrorKind::kInput,
                  "{}: its columns have names, and they are not those of the vocabulary", name);
    }
    if (sparse) cols = std::max(cols, words->size());
    if (cols != words->size()) {
      throw Error(ErrorKind::kInput, "{}: {} columns, but the vocabulary has {} words", name, cols,
                  words->size());
    }
    names = words->words();
  }
  check_columns(cols, files);
  if (static_cast<std::int64_t>(names.size()) != cols)
    names.clear();  // more columns than the file names
}

void settle_columns(Dataset& data, const ReadOptions& options,
                    const std::vector<InputFile>& files) {
  std::visit(
      [&](auto& m) {
        constexpr bool kSparse = kIsSparse<std::decay_t<decltype(m)>>;
        settle_columns(m.cols, data.feature_names, kSparse, options, files);
      },
      data.x);
}

Dataset read(const std::vector<std::filesystem::path>& paths, const ReadOptions& asked) {
  return read_found(find_checked_inputs(paths, asked), asked);
}

Dataset read_found(std::vector<InputFile> files, const ReadOptions& asked) {
  const ReadOptions options = with_vocabulary(files, asked);
  const bool one_array = files.size() == 1 && files.front().reader->text() == nullptr;
  Dataset data = one_array ? read_one(files.front(), options) : read_all(files, options);
  settle_columns(data, options, files);
  const RowRange all[] = {{0, rows(data.x)}};
  attach_columns(data, all, all[0].end, options);
  return data;
}

}  // namespace meanwhile::data
