#include "meanwhile/data/files/convert.h"

#include <memory>
#include <utility>
#include <variant>

#include "meanwhile/data/files/file_sink.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/row_source.h"

namespace meanwhile::data {

namespace {

template <class T>
ConvertResult finish(FileSink<T>& sink, RowsDescription description, bool sparse,
                     const std::vector<InputFile>& files, const ReadOptions& options) {
  description.cols = sink.cols(description);
  settle_columns(description.cols, description.feature_names, sparse, options, files);
  return sink.finish(description);
}

}  // namespace

ConvertResult convert(const std::vector<std::filesystem::path>& paths,
                      const std::filesystem::path& out, const ReadOptions& asked) {
  std::vector<InputFile> files = find_checked_inputs(paths, asked);
  const ReadOptions options = with_vocabulary(files, asked);
  return std::visit(
      [&]<class T>(const std::unique_ptr<RowSource<T>>& rows) {
        FileSink<T> sink(out, rows->sparse());
        return finish(sink, rows->pour(sink), rows->sparse(), files, options);
      },
      open_rows(files, options));
}

}  // namespace meanwhile::data
