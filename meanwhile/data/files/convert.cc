#include "meanwhile/data/files/convert.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "meanwhile/data/files/column_file.h"
#include "meanwhile/data/files/file_sink.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/files/settle_table.h"
#include "meanwhile/data/table/encode.h"

namespace meanwhile::data {

namespace {

// Encodes the raw rows of a table from one file to the next.
template <class T>
class TableConversion {
 public:
  TableConversion(const FileSink<T>& raw, std::int64_t width)
      : raw_(raw),
        width_(static_cast<std::size_t>(width)),
        piece_rows_(std::max<std::int64_t>(1, kPieceValues / width)) {}

  RowPieces<T> pieces() {
    return {width_, 1, [this](const std::function<void(std::span<const T>, int)>& use) {
              for_each([&] { use(chunk_.values.span().first(chunk_.stored), 0); });
            }};
  }

  void pour(const RowEncoder<T>& encoder, FileSink<T>& sink) {
    RowChunk<T> rows;
    for_each([&] {
      rows.clear(chunk_.rows, chunk_.rows * 2 * width_ + 1, encoder.sparse());
      for (std::size_t i = 0; i < chunk_.rows; ++i) {
        const T* const row = chunk_.values.data() + i * width_;
        if (encoder.sparse()) {
          rows.stored +=
              encoder.put(row, rows.columns.data() + rows.stored, rows.values.data() + rows.stored);
          rows.row_end[i] = static_cast<std::int64_t>(rows.stored);
        } else {
          encoder.put(row, rows.values.data() + rows.stored);
          rows.stored += static_cast<std::size_t>(encoder.cols());
        }
      }
      rows.rows = chunk_.rows;
      rows.labelled = chunk_.labelled;
      rows.weighted = chunk_.weighted;
      std::swap(rows.words, chunk_.words);
      std::swap(rows.labels, chunk_.labels);
      std::swap(rows.weights, chunk_.weights);
      sink.put(rows, sink.reserve(rows));
    });
  }

 private:
  static constexpr std::int64_t kPieceValues = 1 << 18;

  void for_each(const std::function<void()>& use) {
    for (std::int64_t row = 0; row < raw_.rows(); row += piece_rows_) {
      raw_.read_rows(row, std::min(piece_rows_, raw_.rows() - row), width_, chunk_);
      use();
    }
  }

  const FileSink<T>& raw_;
  const std::size_t width_;
  const std::int64_t piece_rows_;
  RowChunk<T> chunk_;
};

template <class T>
ConvertResult finish_table(FileSink<T>& raw, const std::filesystem::path& out,
                           RowsDescription description, const std::string& name,
                           const ReadOptions& options) {
  TableConversion<T> conversion(raw, description.cols);
  const SettledTable settled = settle_schema(*description.table, raw.counts(), raw.rows(),
                                             conversion.pieces(), options, add_up_alone, name);
  description.table = std::make_shared<const TableSchema>(settled.schema);
  description.feature_names = encoded_names(settled.schema);
  description.notes.insert(description.notes.end(), settled.notes.begin(), settled.notes.end());
  if (is_plain(settled.schema)) return raw.finish(description);
  const RowEncoder<T> encoder(settled.schema, raw.counts());
  description.cols = encoder.cols();
  FileSink<T> sink(out, encoder.sparse());
  conversion.pour(encoder, sink);
  return sink.finish(description);
}

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
        RowsDescription description = rows->pour(sink);
        Dataset columns;
        const RowRange all[] = {{0, sink.rows()}};
        attach_columns(columns, all, sink.rows(), options);
        sink.put_columns(columns);
        if (!sink.counts().empty()) {
          return finish_table(sink, out, std::move(description), display_name(files.front().path),
                              options);
        }
        return finish(sink, std::move(description), rows->sparse(), files, options);
      },
      open_rows(files, options));
}

}  // namespace meanwhile::data
