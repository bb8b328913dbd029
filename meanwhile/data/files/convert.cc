#include "meanwhile/data/files/convert.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/data/files/append.h"
#include "meanwhile/data/files/file_sink.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/text_formats.h"

namespace meanwhile::data {

namespace {

template <class T>
ConvertResult finish(FileSink<T>& sink, RowsDescription description, bool sparse,
                     const std::vector<InputFile>& files, const ReadOptions& options) {
  description.cols = sink.cols(description);
  settle_columns(description.cols, description.feature_names, sparse, options, files);
  return sink.finish(description);
}

template <class T>
ConvertResult convert_text(const std::vector<InputFile>& files, const std::filesystem::path& out,
                           const ReadOptions& options) {
  const auto format = text_format<T>(files.front(), options);
  FileSink<T> sink(out, format->sparse());
  parse_text(text_inputs(files), *format, sink, options.threads);
  return finish(sink, format->description(), format->sparse(), files, options);
}

// File after file, each of them mapped or, where that cannot be, in memory.
template <class M>
ConvertResult convert_files(const std::vector<InputFile>& files, const std::filesystem::path& out,
                            const ReadOptions& options, Dataset data) {
  FileSink<typename M::Value> sink(out, kIsSparse<M>);
  Appender appender;
  for (const InputFile& file : files) {
    if (&file != &files.front()) {
      data = {};  // before the next is read
      data = read_one(file, options);
    }
    appender.append(data, display_name(file.path), sink);
  }
  return finish(sink, appender.description(), kIsSparse<M>, files, options);
}

}  // namespace

ConvertResult convert(const std::vector<std::filesystem::path>& paths,
                      const std::filesystem::path& out, const ReadOptions& asked) {
  std::vector<InputFile> files = find_checked_inputs(paths, asked);
  const ReadOptions options = with_vocabulary(files, asked);
  if (is_one_text(files)) {
    return options.dtype == DType::kFloat32 ? convert_text<float>(files, out, options)
                                            : convert_text<double>(files, out, options);
  }
  Dataset data = read_one(files.front(), options);
  const Matrix first = data.x;
  return std::visit(
      [&](const auto& m) {
        return convert_files<std::decay_t<decltype(m)>>(files, out, options, std::move(data));
      },
      first);
}

}  // namespace meanwhile::data
