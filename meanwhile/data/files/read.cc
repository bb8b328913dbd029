#include "meanwhile/data/files/read.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/files/append.h"
#include "meanwhile/data/files/detect.h"
#include "meanwhile/data/files/idx.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/safetensors_data.h"
#include "meanwhile/data/files/text_formats.h"
#include "meanwhile/data/text/count_words.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

template <class T>
Dataset read_text(const std::vector<InputFile>& files, const ReadOptions& options) {
  const auto format = text_format<T>(files.front(), options);
  MemorySink<T> sink(format->sparse());
  parse_text(text_inputs(files), *format, sink, options.threads);
  return sink.finish(format->description());
}

Dataset read_binary(const InputFile& file, const ReadOptions& options) {
  const std::string name = display_name(file.path);
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  if (file.plain) {
    auto mapping = std::make_shared<const base::MappedFile>(file.path);
    bytes = mapping->bytes();
    owner = std::move(mapping);
  } else {
    auto source = file.opened ? file.opened : std::make_shared<TextSource>(file.path);
    auto buffer = std::make_shared<const base::Buffer<std::byte>>(source->rest());
    bytes = buffer->span();
    owner = std::move(buffer);
  }
  if (bytes.empty()) throw Error(ErrorKind::kInput, "{}: has no rows: it is empty", name);
  const bool mapped = file.plain;
  Dataset data = file.format == Format::kNpy   ? read_npy(bytes, name, std::move(owner), mapped)
                 : file.format == Format::kIdx ? read_idx(bytes, name, options.dtype)
                                               : read_safetensors(bytes, name, owner, mapped);
  check_finite(data.x, name, options.threads, data.mapped);
  return data;
}

template <class M>
Dataset join(const std::vector<InputFile>& files, const ReadOptions& options, Dataset data) {
  MemorySink<typename M::Value> sink(kIsSparse<M>);
  Appender appender;
  for (const InputFile& file : files) {
    if (&file != &files.front()) {
      data = {};  // before the next is read
      data = read_one(file, options);
    }
    appender.append(data, display_name(file.path), sink);
  }
  return sink.finish(appender.description());
}

}  // namespace

Dataset read_one(const InputFile& file, const ReadOptions& options) {
  if (!is_text(file.format)) return read_binary(file, options);
  return options.dtype == DType::kFloat32 ? read_text<float>({file}, options)
                                          : read_text<double>({file}, options);
}

bool is_one_text(const std::vector<InputFile>& files) {
  return is_text(files.front().format) &&
         std::all_of(files.begin(), files.end(),
                     [&](const InputFile& file) { return file.format == files.front().format; });
}

std::vector<InputFile> find_checked_inputs(const std::vector<std::filesystem::path>& paths,
                                           const ReadOptions& options) {
  if (options.threads < 1) {
    throw Error(ErrorKind::kUsage, "threads: found {}, expected 1 or more", options.threads);
  }
  auto files = find_inputs(paths, options.format, options.fallback);
  const bool any_column = !options.label_column.empty() || !options.weight_column.empty() ||
                          !options.ignore_columns.empty();
  for (const InputFile& file : files) {
    if (any_column && file.format != Format::kCsv) {
      throw Error(ErrorKind::kUsage,
                  "{}: is {}; label, weight and ignored columns can be named in CSV only",
                  display_name(file.path), to_string(file.format));
    }
  }
  return files;
}

void check_columns(std::int64_t cols, const std::vector<InputFile>& files) {
  if (cols > 0) return;
  throw Error(ErrorKind::kInput,
              "{}: every row is empty, so the number of columns is unknown; give --n-features",
              display_name(files.front().path));
}

ReadOptions with_vocabulary(std::vector<InputFile>& files, ReadOptions options) {
  std::vector<InputFile> texts;
  for (InputFile& file : files) {
    if (file.format != Format::kText || options.vocabulary) continue;
    if (!options.may_choose_words) {
      throw Error(ErrorKind::kUsage,
                  "{}: is text, and the model does not say which words to count; give --vocabulary",
                  display_name(file.path));
    }
    if (file.opened) {
      file.held = std::make_shared<const base::Buffer<std::byte>>(file.opened->rest());
      file.opened = nullptr;
    }
    texts.push_back(file);
  }
  if (!texts.empty()) {
    options.vocabulary = std::make_shared<const Vocabulary>(
        count_words(text_inputs(texts), options.words, options.threads));
  }
  return options;
}

void settle_columns(std::int64_t& cols, std::vector<std::string>& names, bool sparse,
                    const ReadOptions& options, const std::vector<InputFile>& files) {
  const std::string name = display_name(files.front().path);
  if (sparse) cols = std::max(cols, options.n_features);
  const bool text = std::any_of(files.begin(), files.end(),
                                [](const InputFile& file) { return file.format == Format::kText; });
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
  if (static_cast<std::int64_t>(names.size()) != cols) names.clear();  // wider than its file
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
  std::vector<InputFile> files = find_checked_inputs(paths, asked);
  const ReadOptions options = with_vocabulary(files, asked);
  Dataset data;
  if (is_one_text(files)) {
    data = options.dtype == DType::kFloat32 ? read_text<float>(files, options)
                                            : read_text<double>(files, options);
  } else {
    data = read_one(files.front(), options);
    if (files.size() > 1) {
      const Matrix first = data.x;
      data = std::visit(
          [&](const auto& m) {
            return join<std::decay_t<decltype(m)>>(files, options, std::move(data));
          },
          first);
    }
  }
  settle_columns(data, options, files);
  return data;
}

}  // namespace meanwhile::data
