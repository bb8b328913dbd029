#include "meanwhile/data/files/append.h"

#include <algorithm>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kPieceValues = 1 << 18;

std::string kind(const Matrix& x) {
  constexpr const char* kKinds[] = {"dense float32", "dense float64", "sparse float32",
                                    "sparse float64"};  // as Matrix lists them
  return kKinds[x.index()];
}

// The row behind the last row of a piece that begins at `row`. A piece has at least one row.
template <class T>
std::int64_t piece_end(const Dense<T>& m, std::int64_t row) {
  const auto rows = static_cast<std::int64_t>(kPieceValues) / std::max<std::int64_t>(m.cols, 1);
  return std::min(m.rows, row + std::max<std::int64_t>(rows, 1));
}
template <class T>
std::int64_t piece_end(const Sparse<T>& m, std::int64_t row) {
  const std::int64_t limit = m.row_start[row] + static_cast<std::int64_t>(kPieceValues);
  const std::int64_t last = std::min(m.rows, row + static_cast<std::int64_t>(kPieceValues));
  const std::int64_t* const end =
      std::upper_bound(m.row_start + row + 1, m.row_start + last + 1, limit);
  return std::max(row + 1, static_cast<std::int64_t>(end - m.row_start) - 1);
}

template <class V>
void take(const V* from, std::size_t count, V* to, bool mapped) {
  std::copy_n(from, count, to);
  if (mapped) base::release_mapped(std::as_bytes(std::span(from, count)));
}

template <class T>
void copy_rows(const Dense<T>& m, std::int64_t begin, std::int64_t end, bool mapped,
               RowChunk<T>& chunk) {
  const auto rows = static_cast<std::size_t>(end - begin);
  const std::size_t stored = rows * static_cast<std::size_t>(m.cols);
  chunk.clear(rows, stored, false);
  chunk.rows = rows;
  chunk.stored = stored;
  take(m.values + begin * m.cols, stored, chunk.values.data(), mapped);
}
template <class T>
void copy_rows(const Sparse<T>& m, std::int64_t begin, std::int64_t end, bool mapped,
               RowChunk<T>& chunk) {
  const std::int64_t first = m.row_start[begin];
  const auto rows = static_cast<std::size_t>(end - begin);
  const auto stored = static_cast<std::size_t>(m.row_start[end] - first);
  chunk.clear(rows, stored, true);
  chunk.rows = rows;
  chunk.stored = stored;
  take(m.values + first, stored, chunk.values.data(), mapped);
  take(m.columns + first, stored, chunk.columns.data(), mapped);
  for (std::size_t i = 0; i < rows; ++i) {
    chunk.row_end[i] = m.row_start[begin + static_cast<std::int64_t>(i) + 1] - first;
  }
}

}  // namespace

void Appender::check(const Dataset& data, const std::string& name) const {
  if (first_name_.empty()) return;
  const auto differ = [&](const std::string& what, const std::string& here,
                          const std::string& there) {
    if (here == there) return;
    throw Error(ErrorKind::kInput, "{} has {}{}, but {} has {}{}", name, here, what, first_name_,
                there, what);
  };
  const auto some = [](bool yes) { return std::string(yes ? "" : "no "); };
  differ(" values", kind(data.x), kind(first_.x));
  if (!is_sparse(data.x)) {
    differ(" columns", std::to_string(cols(data.x)), std::to_string(cols(first_.x)));
  }
  differ("labels", some(!data.labels.empty()), some(!first_.labels.empty()));
  differ("weights", some(!data.weights.empty()), some(!first_.weights.empty()));
  differ(" for labels", data.class_names.empty() ? "numbers" : "words",
         first_.class_names.empty() ? "numbers" : "words");
  if (!data.feature_names.empty() && !first_.feature_names.empty() &&
      data.feature_names != first_.feature_names) {
    throw Error(ErrorKind::kInput, "the columns of {} have other names than those of {}", name,
                first_name_);
  }
  if (data.table && first_.table && !is_plain(*data.table) && *data.table != *first_.table) {
    throw Error(ErrorKind::kInput,
                "the columns of {} have other levels than those of {}; convert the files together",
                name, first_name_);
  }
}

template <class T>
void Appender::append(const Dataset& data, const std::string& name, RowSink<T>& sink) {
  check(data, name);
  if (first_name_.empty()) {
    first_ = data;
    first_.owners.clear();  // only whether the views are empty counts
    first_name_ = name;
  }
  if (first_.feature_names.empty()) first_.feature_names = data.feature_names;
  cols_ = std::max(cols_, cols(data.x));
  notes_.insert(notes_.end(), data.notes.begin(), data.notes.end());

  const auto pour = [&](const auto& m) {
    RowChunk<T> chunk;
    std::int64_t row = 0;
    while (row < m.rows) {
      const std::int64_t end = piece_end(m, row);
      copy_rows(m, row, end, data.mapped, chunk);
      if (row == 0) chunk.unknown = data.unknown;
      const auto begin = static_cast<std::size_t>(row);
      chunk.labelled = !data.labels.empty();
      if (chunk.labelled) {
        std::copy_n(data.labels.data() + begin, chunk.rows, chunk.labels.data());
      }
      for (const std::string& word : data.class_names) chunk.words.index(word);
      chunk.weighted = !data.weights.empty();
      if (chunk.weighted) {
        std::copy_n(data.weights.data() + begin, chunk.rows, chunk.weights.data());
      }
      sink.put(chunk, sink.reserve(chunk));
      row = end;
    }
  };
  if (is_sparse(data.x)) {
    pour(std::get<Sparse<T>>(data.x));
  } else {
    pour(std::get<Dense<T>>(data.x));
  }
}

RowsDescription Appender::description() const {
  return {cols_, first_.feature_names, first_.table, notes_, first_.counts_from_one};
}

template void Appender::append(const Dataset&, const std::string&, RowSink<float>&);
template void Appender::append(const Dataset&, const std::string&, RowSink<double>&);

}  // namespace meanwhile::data
