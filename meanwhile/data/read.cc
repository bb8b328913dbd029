#include "meanwhile/data/read.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/append.h"
#include "meanwhile/data/detect.h"
#include "meanwhile/data/idx.h"
#include "meanwhile/data/input_files.h"
#include "meanwhile/data/memory_sink.h"
#include "meanwhile/data/npy.h"
#include "meanwhile/data/read_parts.h"
#include "meanwhile/data/safetensors_data.h"
#include "meanwhile/data/text_formats.h"

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
  auto files = find_inputs(paths, options.format);
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

void widen(Matrix& x, const ReadOptions& options, const std::vector<InputFile>& files) {
  std::visit(
      [&](auto& m) {
        if constexpr (kIsSparse<std::decay_t<decltype(m)>>) {
          m.cols = std::max(m.cols, options.n_features);
        }
        check_columns(m.cols, files);
      },
      x);
}

Dataset read(const std::vector<std::filesystem::path>& paths, const ReadOptions& options) {
  const std::vector<InputFile> files = find_checked_inputs(paths, options);
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
  widen(data.x, options, files);
  return data;
}

}  // namespace meanwhile::data
